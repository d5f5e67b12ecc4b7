package loadbalancer

import (
	"maps"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fairlead/controllers/disputes"
	"fairlead.dev/fairlead/controllers/outcome"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/providers"
)

// This file finds steps that another writer has undone since they were carried out.

// writes holds when each step of a load balancer was carried out first, of the steps that an
// observation may not find yet. A step that is carried out once more, because an observation did
// not find it, keeps its time.
type writes struct {
	mu sync.Mutex
	of map[lb.Key]map[string]time.Time
}

// undoneSince returns the steps of a plan that would not be needed if the cloud had what it had
// before the last observation: another writer has undone them, or the observation does not find
// them yet. It returns none where nothing was observed anew.
func undoneSince(before *lb.Observed, o outcome.Outcome) []string {
	if before == nil || before == o.Observed || o.Plan.Empty() {
		return nil
	}
	needed := stepsOf(outcome.PlanUnlessRetained(o.Snapshot,
		planner.Diff(before, o.Built.LoadBalancer, o.Capabilities)))
	return slices.DeleteFunc(stepsOf(o.Plan), func(s string) bool {
		return slices.Contains(needed, s)
	})
}

// judgeDispute returns the dispute about a load balancer, of which an observation has found some
// steps undone; nil if there is none. An observation counts if there was one before it to compare
// it with.
func (w *writes) judgeDispute(d *disputes.Disputes, compared bool, key lb.Key,
	undone []string) *disputes.Dispute {
	now := time.Now()
	if compared && d.TimeLeft(lb.GroupKey{Key: key}, now) == 0 {
		certain := w.findable(key, undone, now)
		if len(certain) > 0 || len(undone) == 0 {
			d.Add(lb.GroupKey{Key: key}, certain, now)
		}
	}
	return d.FirstToEnd(key, now)
}

// add records the steps that were carried out, some of them once more.
func (w *writes) add(key lb.Key, steps, again []string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[lb.Key]map[string]time.Time{}
	}
	if w.of[key] == nil {
		w.of[key] = map[string]time.Time{}
	}
	for _, s := range steps {
		if _, known := w.of[key][s]; !known || !slices.Contains(again, s) {
			w.of[key][s] = now
		}
	}
}

// forget forgets the steps of a load balancer.
func (w *writes) forget(key lb.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, key)
}

// findable returns those of some steps that an observation would find if they were not undone, and
// forgets the writes that were found.
func (w *writes) findable(key lb.Key, undone []string, now time.Time) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	recent := func(s string) bool { return now.Sub(w.of[key][s]) < providers.ReadLag }
	certain := slices.DeleteFunc(slices.Clone(undone), recent)
	maps.DeleteFunc(w.of[key], func(s string, _ time.Time) bool {
		return !recent(s) && !slices.Contains(undone, s)
	})
	if len(w.of[key]) == 0 {
		delete(w.of, key)
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
