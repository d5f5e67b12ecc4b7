package loadbalancer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/plan"
)

// This file describes the waits of a load balancer after a reconcile.

// awaitedTargets describes the target groups that the plan waits for, with the latest end of the
// wait; "" for none.
func (o outcome) awaitedTargets(since time.Time) string {
	var groups []string
	for _, s := range o.Run.Pending {
		if await, ok := s.(plan.AwaitTargets); ok {
			groups = append(groups, string(await.Group))
		}
	}
	if len(groups) == 0 {
		return ""
	}
	more := ""
	if len(groups) > 3 {
		more = fmt.Sprintf(" and %d more", len(groups)-3)
		groups = groups[:3]
	}
	latest := since.Add(o.Snapshot.WarmTimeout()).UTC().Format(time.RFC3339)
	return fmt.Sprintf("target groups have no healthy target yet: %s%s; the first one takes over at "+
		"%s at the latest", strings.Join(groups, ", "), more, latest)
}

// awaitedCloud describes the step that the cloud is not ready for; "" for none.
func (o outcome) awaitedCloud() string {
	for _, s := range o.Run.Pending {
		if _, await := s.(plan.AwaitTargets); !await {
			return fmt.Sprintf("the cloud is not ready to %s %s, and does not say when it is: it is asked "+
				"again every %s", s.Op(), s.ID(), queue.LongestPending)
		}
	}
	if o.Err == nil && o.Observed.Exists && !o.Observed.Active {
		return fmt.Sprintf("the cloud is setting up the load balancer, and does not say how long it "+
			"takes: it is asked again every %s", queue.LongestPending)
	}
	return ""
}

// awaitedQuota returns a message if a quota is used up; "" if none is.
func (o outcome) awaitedQuota(next *records.Record) string {
	full := slices.ContainsFunc(o.diagnostics(), func(d diag.Diagnostic) bool {
		return d.Reason == diag.QuotaExceeded
	})
	for _, m := range next.Memory.Members {
		lasting := o.lastingRejections(m.Rejections)
		full = full || slices.ContainsFunc(lasting, func(x v1alpha1.Rejection) bool {
			return x.Until != nil
		})
	}
	if !full {
		return ""
	}
	return fmt.Sprintf("a quota is used up: what does not fit is tried again every %s",
		queue.AfterRejected)
}
