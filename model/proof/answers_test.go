package proof

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// What takes more searches than there are is undecided, and never proven.
func TestASearchWithoutEndIsUndecided(t *testing.T) {
	for _, tt := range []struct {
		searches int
		result   Result
	}{{0, Undecided}, {mostSearches, Proven}} {
		c, v := checking(tt.searches, mostCompared)
		c.check(claim{span: v, wrong: func(_, _ *span) bool { return false }}, []*span{v}, nil)
		if c.Result != tt.result || tt.result == Undecided && !strings.HasPrefix(c.Why, "the search for a request") {
			t.Errorf("with %d searches it is %s: %s", tt.searches, c.Result, c.Why)
		}
	}
}

// All comparisons that there may be are made, and none more.
func TestComparisonsComeToAnEnd(t *testing.T) {
	for left, result := range map[int]Result{0: Undecided, 1: Proven} {
		c, v := checking(mostSearches, left)
		if near := c.nearRules(v); c.Result != result || (len(near) == 1) != (result == Proven) {
			t.Errorf("with %d comparisons it is %s: %s, %d rules", left, c.Result, c.Why, len(near))
		}
	}
}

// checking checks an empty plan of a listener, and returns its default action.
func checking(searches, comparisons int) (*checker, *span) {
	seen := &lb.Observed{Exists: true, Listeners: []lb.ObservedListener{{Port: 80, Protocol: routing.HTTP, Default: lb.FromRouting(routing.Status(404))}}}
	d := lb.ALB().Dialect
	c := &checker{Course: follow(seen, lb.LoadBalancer{}, plan.Plan{}, d), finder: newFinder(d, searches), left: comparisons, Verdict: Verdict{Result: Proven}}
	return c, c.Ports[80].Served[0]
}
