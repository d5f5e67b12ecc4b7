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

// staying adds those of the present targets whose Pods the cache may not have yet.
func staying(found endpoints.Found, have []lb.Target) []lb.Target {
	want := found.Targets
	for _, t := range found.Awaited {
		if slices.Contains(have, t) && !slices.Contains(want, t) {
			want = append(slices.Clip(want), t)
		}
	}
	return want
}

// whenLess reconciles a group again that has too many targets: other groups may have fewer by then.
func whenLess(crowded bool) reconcile.Result {
	if crowded {
		return reconcile.Result{RequeueAfter: queue.AfterCrowded}
	}
	return reconcile.Result{}
}

// An outlook is how the targets of a Service are about to change.
type outlook int

const (
	settled  outlook = iota // not at all
	more                    // more targets are coming
	disputed                // no requests may be sent there, unless the cache lacks Pods
	deserted                // none are left: the Service does not exist, or has no endpoints
)

// How long changes wait. Additions wait for more of them, for the Pods of a Deployment come in a
// burst. The removal of the last targets waits for the Ingresses that lead there: these often go
// together with the Service, and then the target group is deleted as a whole.
const (
	gather   = time.Second
	mourning = 5 * time.Second
)

// due reports whether the targets of a group are to change, and how long that can wait. The last
// addition of a burst does not wait: once all Pods are ready, all of them are registered.
func due(have, want []lb.Target, next outlook, waiting,
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
