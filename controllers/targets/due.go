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

// staying adds to targets those that are there and whose Pods may be seen yet.
func staying(found endpoints.Found, have []lb.Target) []lb.Target {
	want := found.Targets
	for _, t := range found.Awaited {
		if slices.Contains(have, t) && !slices.Contains(want, t) {
			want = append(slices.Clip(want), t)
		}
	}
	return want
}

// whenLess comes back to a group that is crowded: others of its load balancer may have left.
func whenLess(crowded bool) reconcile.Result {
	if crowded {
		return reconcile.Result{RequeueAfter: queue.AfterCrowded}
	}
	return reconcile.Result{}
}

// An outlook is what is about to become of the targets of a Service.
type outlook int

const (
	settled  outlook = iota // they are as they will be
	more                    // others are coming
	disputed                // nothing may be sent there, unless Pods are seen yet
	deserted                // nobody is left, for the Service is gone or has no endpoint at all
)

// How long changes wait: additions for others that are coming, for pods of one Deployment come in a
// burst; and the last to go, where nobody is left who could answer in their place, for the
// Ingresses that lead there: these often go with the Service, and the target group with them, which
// is not emptied first.
const (
	gather   = time.Second
	mourning = 5 * time.Second
)

// due reports whether the members of a group are to change, and how long that can wait. The last of
// a burst does not: who has seen all pods ready finds all of them serving.
func due(have, want []lb.Target, next outlook, waiting, now time.Time) (wait time.Duration, change bool) {
	missing := func(from, in []lb.Target) bool {
		return slices.ContainsFunc(from, func(t lb.Target) bool { return !slices.Contains(in, t) })
	}
	added, removed := missing(want, have), missing(have, want)
	patience := time.Duration(0)
	switch {
	case !added && !removed:
		return 0, false
	case next == deserted:
		patience = mourning
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
