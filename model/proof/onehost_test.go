package proof_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/routing"
)

// TestOneHostHasABudget has plans that make rules of one host, of which each may match what another
// one does: 1,000 are compared, and 4,000 would take too long.
func TestOneHostHasABudget(t *testing.T) {
	c := lb.ALB()
	c.Rules, c.TargetGroups, c.MaxPriority = 0, 0, 50000
	d := drawing{caps: c}
	for rules, result := range map[int]proof.Result{1000: proof.Proven, 4000: proof.Undecided} {
		l := lb.Listener{Port: 80, Protocol: routing.HTTP, Default: fixed(404)}
		for i := range rules {
			l.Rules = append(l.Rules, lb.Rule{Action: fixed(200 + i%100), Conditions: []lb.Condition{
				{Field: "host", Values: []string{"shop.example.com"}},
				{Field: "path", Values: []string{fmt.Sprintf("/v%d", i)}},
			}})
		}
		want := lb.LoadBalancer{Key: "fairlead/test/web/internal", Wanted: true,
			Listeners: []lb.Listener{l}}
		seen := d.stands(lb.LoadBalancer{Key: want.Key})
		if v := proof.Check(seen, want, planner.Diff(seen, want, c), c.Dialect); v.Result != result {
			t.Errorf("a plan of %d rules is %s, want %s: %s", rules, v.Result, result, v.Why)
		}
	}
}
