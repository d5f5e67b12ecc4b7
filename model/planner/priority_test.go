package planner

import (
	"fmt"
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/test/nightly"
)

// numbered is a listener with rules of the given names, as the cloud would have it.
func numbered(names ...string) lb.LoadBalancer {
	l := lb.Listener{Port: 80, Protocol: "HTTP", Default: fixed(404)}
	for _, n := range names {
		l.Rules = append(l.Rules, lb.Rule{Conditions: []lb.Condition{{Field: "path", Values: []string{"/" + n}}}, Action: fixed(200)})
	}
	return lb.LoadBalancer{Key: "fairlead/shop/web/internal", Listeners: []lb.Listener{l}}
}

func names(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("rule-%d", i))
	}
	return out
}

func respacings(p plan.Plan) (count, moved int) {
	for _, s := range p.Steps {
		if r, ok := s.Step.(plan.RespaceRules); ok {
			count++
			moved += len(r.To)
		}
	}
	return count, moved
}

func TestFreshRulesAreSpacedEvenlyWithRoomAtBothEnds(t *testing.T) {
	o := built(numbered(names(99)...), lb.ALB())
	last := 0
	for _, r := range o.Listeners[0].Rules {
		if gap := r.Priority - last; gap < 450 || gap > 550 {
			t.Errorf("rule at %d follows %d", r.Priority, last)
		}
		last = r.Priority
	}
	if last > 49600 {
		t.Errorf("the last rule is at %d, which leaves no room behind it", last)
	}
}

func TestInsertingInOnePlaceSeldomMovesRules(t *testing.T) {
	places := map[string]func(at, i int) int{
		"always behind the same rule":    func(at, _ int) int { return at },
		"always before the same rule":    func(at, i int) int { return at + i },
		"now before, now behind":         func(at, i int) int { return at + i/2 },
		"in the middle of the last gaps": func(at, i int) int { return at + i - i%2 },
	}
	for why, place := range nightly.Cases(t, places) {
		for _, at := range []int{0, 1, 50, 99, 100} {
			t.Run(fmt.Sprintf("%s %d", why, at), func(t *testing.T) {
				c := lb.ALB()
				c.Rules = 0
				list := names(100)
				o := built(numbered(list...), c)
				calls := 0
				for i := range 100 {
					list = slices.Insert(list, place(at, i), fmt.Sprintf("late-%d", i))
					p := Diff(o, numbered(list...), c)
					n, moved := respacings(p)
					calls += n
					if len(p.Steps) != 1+n || n > 1 || moved > 40 {
						t.Fatalf("insert %d takes %d steps and moves %d rules", i, len(p.Steps), moved)
					}
					o = p.Fold(o)
				}
				if calls > 10 {
					t.Errorf("100 inserts took %d re-spacings", calls)
				}
			})
		}
	}
}
