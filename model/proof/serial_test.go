package proof_test

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/proof"
)

func TestASerialPlanHasOneOrder(t *testing.T) {
	p := plan.Plan{Key: "k", Steps: []plan.Planned{done(load("a")), done(load("b")), done(attach("a"), 0)}}
	s := proof.Serial(p)
	if s.Key != "k" || len(s.Steps) != 3 || len(s.Steps[0].After) != 0 ||
		!slices.Equal(s.Steps[1].After, []int{0}) || !slices.Equal(s.Steps[2].After, []int{1}) {
		t.Errorf("the steps are %+v", s.Steps)
	}
	for i := range p.Steps {
		if s.Steps[i].Step.ID() != p.Steps[i].Step.ID() {
			t.Errorf("step %d is %s", i, s.Steps[i].Step.ID())
		}
	}
	if len(p.Steps[1].After) != 0 {
		t.Error("the plan itself has changed")
	}
}

func TestALoadBalancerThatDoesNotExistIsMade(t *testing.T) {
	want := lb.LoadBalancer{Key: "k", Wanted: true, Listeners: []lb.Listener{http(fixed(404))}}
	p := plan.Plan{Key: "k", Steps: []plan.Planned{
		done(plan.CreateLoadBalancer{LoadBalancer: want}), done(plan.CreateListener{Listener: want.Listeners[0]}, 0)}}
	if v := proof.Check(nil, want, p, lb.ALB().Dialect); v.Result != proof.Proven {
		t.Errorf("the plan is %s: %s", v.Result, v.Why)
	}
}
