package loadbalancer

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file ends waits for target groups: a plan waits until they are healthy, but no longer than
// the limit of the class.

// absentTimeout is how long a plan waits for a target group without a Service or endpoints, which
// cannot become healthy. It leaves time to apply objects that belong together.
const absentTimeout = 30 * time.Second

// mostBetween is how much of the time between two waiting plans counts as a wait. If more has
// passed, the load balancer was paused, its plans failed, or this process was stopped.
const mostBetween = 30 * time.Second

// warmups holds how long plans have waited for target groups.
type warmups struct {
	mu      sync.Mutex
	byGroup map[lb.GroupKey]*await
}

// An await has the time that plans have waited for a target group.
type await struct {
	waited time.Duration
	last   time.Time // when waited was last updated
	lost   bool      // the wait is over, and the group takes over unhealthy
}

// add adds time to the waits of the groups that a plan waits for. The wait for a group starts again
// after the group was healthy or deleted, or after a plan was done.
func (w *warmups) add(seen *lb.Observed, pending []plan.Step, done bool, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byGroup == nil {
		w.byGroup = map[lb.GroupKey]*await{}
	}
	for k, a := range w.byGroup {
		group := seen.TargetGroup(k.ID)
		if k.Key == seen.Key && (done || group == nil || group.Ready && !a.lost) {
			delete(w.byGroup, k)
		}
	}
	for _, s := range pending {
		step, ok := s.(plan.AwaitTargets)
		if !ok {
			continue
		}
		k := lb.GroupKey{Key: seen.Key, ID: step.Group}
		a := w.byGroup[k]
		if a == nil {
			a = &await{last: now}
			w.byGroup[k] = a
		}
		a.waited += min(now.Sub(a.last), mostBetween)
		a.last = now
	}
}

// firstWait returns when plans began to wait for a group of a load balancer, without the time that
// does not count.
func (w *warmups) firstWait(key lb.Key) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out time.Time
	for k, a := range w.byGroup {
		if since := a.last.Add(-a.waited); k.Key == key && (out.IsZero() || since.Before(out)) {
			out = since
		}
	}
	return out
}

// isOver reports whether plans have waited long enough for a group.
func (w *warmups) isOver(k lb.GroupKey, limit time.Duration, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.byGroup[k]
	if a == nil || !a.lost && a.waited+min(now.Sub(a.last), mostBetween) < limit {
		return false
	}
	a.lost = true
	return true
}

// assumeWarm marks target groups as healthy after plans have waited long enough for them.
func (w *warmups) assumeWarm(ctx context.Context, g *gather.Snapshot, seen *lb.Observed) {
	limit := g.WarmTimeout()
	for _, group := range seen.TargetGroups {
		limit := limit
		if !mayBecomeHealthy(g, group.TargetGroup) {
			limit = min(limit, absentTimeout)
		}
		if !group.Ready && w.isOver(lb.GroupKey{Key: g.Key, ID: group.ID}, limit, time.Now()) {
			log.FromContext(ctx).Info("a target group takes over without a healthy target, since the "+
				"wait for it is over", "group", group.ID)
			plan.AwaitTargets{Group: group.ID}.Do(seen, plan.Result{})
		}
	}
}

// mayBecomeHealthy reports whether a target group may become healthy: its Service has the port, and
// has endpoints or a selector.
func mayBecomeHealthy(g *gather.Snapshot, group lb.TargetGroup) bool {
	return slices.ContainsFunc(g.Services, func(s *corev1.Service) bool {
		return s.Namespace+"/"+s.Name == group.Service && slices.ContainsFunc(s.Spec.Ports,
			func(p corev1.ServicePort) bool {
				return strconv.Itoa(int(p.Port)) == string(group.Port) || p.Name == string(group.Port)
			}) && (len(s.Spec.Selector) > 0 || !objectsOf(g, s).HasNoEndpoints())
	})
}

// objectsOf returns a Service with its EndpointSlices.
func objectsOf(g *gather.Snapshot, s *corev1.Service) endpoints.Objects {
	now := endpoints.Objects{Service: s}
	for _, e := range g.EndpointSlices {
		if e.Namespace == s.Namespace && slices.Contains(cluster.ServiceOfSlice(e), s.Name) {
			now.Slices = append(now.Slices, e)
		}
	}
	return now
}

// awaited holds the number of target groups that the plan of each load balancer waits for.
type awaited struct {
	mu    sync.Mutex
	byKey map[lb.Key]int
}

// set stores how many of the pending steps wait for target groups.
func (a *awaited) set(key lb.Key, pending []plan.Step) {
	n := 0
	for _, s := range pending {
		if _, waits := s.(plan.AwaitTargets); waits {
			n++
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byKey == nil {
		a.byKey = map[lb.Key]int{}
	}
	if a.byKey[key] = n; n == 0 {
		delete(a.byKey, key)
	}
}

func (a *awaited) get() map[lb.Key]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.byKey)
}
