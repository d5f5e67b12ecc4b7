package planner

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/lb"
)

func TestPlainHosts(t *testing.T) {
	for _, tt := range []struct {
		why   string
		hosts []lb.Condition
		want  []string
	}{
		{"any host", nil, nil},
		{"hosts in other letters", []lb.Condition{{Field: "host", Values: []string{"A.test", "b.test"}}}, []string{"a.test", "b.test"}},
		{"a glob among them", []lb.Condition{{Field: "host", Values: []string{"a.test", "*.test"}}}, nil},
		{"a regular expression", []lb.Condition{{Field: "host", Regex: []string{"^a$"}}}, nil},
	} {
		if got := plainHosts(lb.Rule{Conditions: tt.hosts}); !slices.Equal(got, tt.want) || (got == nil) != (tt.want == nil) {
			t.Errorf("%s: %v, want %v", tt.why, got, tt.want)
		}
	}
}

// Rules that may overlap are found once each, in their order.
func TestCandidates(t *testing.T) {
	x := newIndex(newOverlapCache(lb.Dialect{}))
	for i, hosts := range [][]string{{"b.test"}, {"a.test", "b.test"}, {"*.test"}, {"c.test"}, {"a.test"}} {
		x.add(entry{i, lb.Rule{Conditions: []lb.Condition{{Field: "host", Values: hosts}}}})
	}
	for host, want := range map[string][]int{"a.test": {1, 2, 4}, "b.test": {0, 1, 2}, "*.test": {0, 1, 2, 3, 4}, "d.test": {2}} {
		if got := x.candidates(rule(host, "", lb.Action{})); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
	both := lb.Rule{Conditions: []lb.Condition{{Field: "host", Values: []string{"b.test", "a.test"}}}}
	if got := x.candidates(both); !slices.Equal(got, []int{0, 1, 2, 4}) {
		t.Errorf("two hosts: %v", got)
	}
}

// What expressions tell is kept, and what lists tell is not.
func TestOverlapsAreKept(t *testing.T) {
	listed, other := rule("a.test", "/x", lb.Action{}), rule("a.test", "/y", lb.Action{})
	matching := lb.Rule{Conditions: []lb.Condition{{Field: "path", Regex: []string{"^/x[0-9]*$"}}}}
	for _, tt := range []struct {
		why           string
		a, b          lb.Rule
		overlap, kept bool
	}{
		{"lists", listed, other, false, false},
		{"a list and an expression", listed, matching, true, true},
		{"an expression and a list", matching, other, false, true},
	} {
		p := newOverlapCache(lb.Dialect{})
		if got := p.overlap(tt.a, tt.b); got != tt.overlap || len(p.known) > 0 != tt.kept {
			t.Errorf("%s: overlap %t, of which %d are kept", tt.why, got, len(p.known))
		}
	}
}

// A step of which the rule would be compared with more than 200 is a barrier.
func TestBarriers(t *testing.T) {
	order := newRuleOrder(newOverlapCache(lb.Dialect{}))
	for i := range mostCompared {
		order.add(entry{i, rule("a.test", "", lb.Action{})})
	}
	b := rule("b.test", "/b", lb.Action{})
	if after := order.place(entry{mostCompared, rule("*.test", "/a", lb.Action{})}); len(after) != mostCompared || order.barrier != absent {
		t.Errorf("of %d rules, it waits for %d, with the barrier %d", mostCompared, len(after), order.barrier)
	}
	if after := order.place(entry{300, rule("*.test", "/b", lb.Action{})}); len(after) != mostCompared+1 || order.barrier != 300 {
		t.Errorf("of one rule more, it waits for %d, with the barrier %d", len(after), order.barrier)
	}
	if after := order.place(entry{301, b}); !slices.Equal(after, []int{300}) {
		t.Errorf("behind the barrier, it waits for %v", after)
	}
	if after := order.placeBarrier(302); !slices.Equal(after, []int{301, 300}) {
		t.Errorf("the next barrier waits for %v", after)
	}
	if after := order.placeBarrier(303); !slices.Equal(after, []int{302}) {
		t.Errorf("the last barrier waits for %v", after)
	}
}
