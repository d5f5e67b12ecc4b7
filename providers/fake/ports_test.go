package fake

import (
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// A Service is what a port answers between two steps: later ones, which change the state in place,
// do not reach requests that have it.
func TestAServiceKeepsItsRules(t *testing.T) {
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answer := func(status int) lb.Action { return lb.Action{Kind: "fixed", Status: status} }
	apply := func(step plan.Step) {
		t.Helper()
		if _, err := c.Apply(t.Context(), &lb.Observed{Key: "shop"}, step); err != nil {
			t.Fatal(err)
		}
	}
	apply(plan.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Key: "shop"}})
	apply(plan.CreateListener{Listener: lb.Listener{Port: 80, Protocol: "HTTP", Default: answer(404)}})
	apply(plan.CreateTargetGroup{Group: lb.TargetGroup{ID: "web"}})
	apply(plan.CreateRule{Port: 80, Priority: 1, Rule: lb.Rule{Action: answer(410)}})
	s := c.newService(c.records["shop"], 80)
	apply(plan.ModifyRule{Port: 80, Priority: 1, Rule: lb.Rule{Action: answer(403)}})
	apply(plan.DeleteTargetGroup{Group: "web"})
	if got := s.Listener.Rules[0].Action.Status; got != 410 {
		t.Errorf("its rule answers %d by now, want 410", got)
	}
	if s.Pools["web"] == nil {
		t.Error("its target group is gone")
	}
}
