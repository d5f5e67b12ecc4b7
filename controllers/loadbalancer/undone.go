package loadbalancer

import (
	"maps"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/providers"
)

// This file finds steps that another writer has undone since they were carried out.

// writes holds the steps of each load balancer that an observation may not find yet, with the time
// when they were first carried out. A step that is repeated, because an observation did not find
// it, keeps its time.
type writes struct {
	mu    sync.Mutex
	byKey map[lb.Key]map[string]time.Time
}

// undoneSince returns the steps of a plan that the state before the last observation would not
// need: another writer has undone them, or the observation does not find them yet. It returns none
// without a new observation.
func undoneSince(before *lb.Observed, o outcome) []string {
	if before == nil || before == o.Observed || o.Plan.Empty() {
		return nil
	}
	needed := stepsOf(planUnlessRetained(o.Snapshot,
		planner.Diff(before, o.Built.LoadBalancer, o.Capabilities)))
	return slices.DeleteFunc(stepsOf(o.Plan), func(s string) bool {
		return slices.Contains(needed, s)
	})
}

// disputeOf returns the dispute about a load balancer after an observation has found steps
// undone; nil if there is none. The observation counts only if it was compared with an earlier one.
func (w *writes) disputeOf(d *queue.Disputes, compared bool, key lb.Key,
	undone []string) *queue.Dispute {
	now := time.Now()
	if compared && d.TimeLeft(lb.GroupKey{Key: key}, now) == 0 {
		certain := w.findable(key, undone, now)
		if len(certain) > 0 || len(undone) == 0 {
			d.Add(lb.GroupKey{Key: key}, certain, now)
		}
	}
	return d.FirstToEnd(key, now)
}

// add records the steps that were carried out. The steps in again were repeated.
func (w *writes) add(key lb.Key, steps, again []string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byKey == nil {
		w.byKey = map[lb.Key]map[string]time.Time{}
	}
	if w.byKey[key] == nil {
		w.byKey[key] = map[string]time.Time{}
	}
	for _, s := range steps {
		if _, known := w.byKey[key][s]; !known || !slices.Contains(again, s) {
			w.byKey[key][s] = now
		}
	}
}

// forget forgets the steps of a load balancer.
func (w *writes) forget(key lb.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byKey, key)
}

// findable returns the steps that an observation would find if they were not undone, and drops the
// writes that were found.
func (w *writes) findable(key lb.Key, undone []string, now time.Time) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	recent := func(s string) bool { return now.Sub(w.byKey[key][s]) < providers.ReadLag }
	certain := slices.DeleteFunc(slices.Clone(undone), recent)
	maps.DeleteFunc(w.byKey[key], func(s string, _ time.Time) bool {
		return !recent(s) && !slices.Contains(undone, s)
	})
	if len(w.byKey[key]) == 0 {
		delete(w.byKey, key)
	}
	return certain
}

// stepsOf returns the steps of a plan, each as its operation and its object.
func stepsOf(p plan.Plan) []string {
	var out []string
	for _, s := range p.Print() {
		out = append(out, s.Op+" "+s.ID)
	}
	return out
}
