package loadbalancer

import (
	"testing"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// emptying is a load balancer with many rules, and a plan that deletes it.
func emptying(key lb.Key) (*lb.Observed, plan.Plan) {
	seen := &lb.Observed{Key: key, Exists: true, Listeners: []lb.ObservedListener{{Port: 80}}}
	for i := range 30 {
		seen.Listeners[0].Rules = append(seen.Listeners[0].Rules, lb.ObservedRule{Priority: i + 1})
	}
	return seen, plan.Plan{Key: key, Steps: []plan.Planned{{Step: plan.DeleteListener{Port: 80}}}}
}

// TestADoubtEndsWithTheReadingThatDoesNotShareIt: what is read short again later is doubted again.
func TestADoubtEndsWithTheReadingThatDoesNotShareIt(t *testing.T) {
	const key = lb.Key("fairlead/shop/web/internal")
	seen, p := emptying(key)
	r := &Reconciler{Parts: Parts{Disputes: &queue.Disputes{}, Gatherer: &gather.Gatherer{}}}
	g := &gather.Snapshot{Snapshot: ingress.Snapshot{Key: key}}
	for i, step := range []struct {
		plan plan.Plan
		want string
	}{
		{p, v1alpha1.ReasonUnconfirmed},
		{plan.Plan{Key: key}, ""}, // all is there
		{p, v1alpha1.ReasonUnconfirmed},
		{plan.Plan{Key: key, Steps: []plan.Planned{{Step: plan.CreateListener{}}}}, ""}, // so little is not in doubt
		{p, v1alpha1.ReasonUnconfirmed},
		{p, ""}, // the second reading says the same
		{p, v1alpha1.ReasonUnconfirmed},
	} {
		before := r.doubts.isUnconfirmed(key)
		if got := r.withheld(outcome{Snapshot: g, Observed: seen, Plan: step.plan}); got != step.want {
			t.Errorf("step %d is withheld for %q, want %q", i, got, step.want)
		}
		if before != (i == 1 || i == 3 || i == 5) {
			t.Errorf("before step %d there is a doubt: %v", i, before)
		}
	}
	r.doubts.forget(key)
	if len(r.doubts.plans) > 0 {
		t.Errorf("of a load balancer that is gone is kept: %v", r.doubts.plans)
	}
}
