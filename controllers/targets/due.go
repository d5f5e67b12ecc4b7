package targets

import (
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/lb"
)

// This file decides when the targets of a group change.

// addStaying adds the present targets whose Pods the cache may not have yet.
func addStaying(found endpoints.Found, have []lb.Target) []lb.Target {
	want := found.Targets
	for _, t := range found.Awaited {
		if slices.Contains(have, t) && !slices.Contains(want, t) {
			want = append(slices.Clip(want), t)
		}
	}
	return want
}

// retryCrowded returns the retry of a group that has too many targets: other groups may have fewer
// then.
func retryCrowded(crowded bool) reconcile.Result {
	if crowded {
		return reconcile.Result{RequeueAfter: queue.AfterCrowded}
	}
	return reconcile.Result{}
}

// An outlook is the expected change of the targets of a Service.
type outlook int

const (
	settled  outlook = iota // not at all
	more                    // more targets are coming
	disputed                // no requests may be sent there, unless the cache lacks Pods
	deserted                // none are left: the Service does not exist, or has no endpoints
)

// These are the waits of changes. Additions wait for more of them, since the Pods of a Deployment
// arrive in a burst. The removal of the last targets waits for the Ingresses of the Service: these
// are often deleted with it, and then the target group is deleted as a whole.
const (
	gather          = time.Second
	lastTargetsStay = 5 * time.Second
)

// dueIn reports whether the targets of a group have to change, and how long the change can wait.
// The last addition of a burst does not wait: when all Pods are ready, all are registered.
func dueIn(have, want []lb.Target, next outlook, waiting,
	now time.Time) (wait time.Duration, change bool) {
	missing := func(from, in []lb.Target) bool {
		return slices.ContainsFunc(from, func(t lb.Target) bool { return !slices.Contains(in, t) })
	}
	added, removed := missing(want, have), missing(have, want)
	patience := time.Duration(0)
	switch {
	case !added && !removed:
		return 0, false
	case next == deserted:
		patience = lastTargetsStay
	case next == disputed:
		patience = cluster.Lag
	case next == more && !removed:
		patience = gather
	}
	if waiting.IsZero() {
		return patience, true
	}
	return max(0, waiting.Add(patience).Sub(now)), true
}
