package plan_test

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// A parking rule names its groups alike. One with several groups keeps clients with a group.
func TestAParkingRuleNamesItsGroups(t *testing.T) {
	for sticky, groups := range map[int32][]lb.GroupID{0: {"a"}, 1: {"a", "b"}} {
		r := plan.ParkingRule(groups, lb.ALB())
		if !plan.Parked(r) {
			t.Errorf("the rule for %q is no parking rule", groups)
		}
		if !slices.Equal(r.Action.Groups(), groups) || r.Action.Kind != "forward" || r.Action.StickySeconds != sticky {
			t.Errorf("the rule for %q is %+v", groups, r.Action)
		}
		for _, w := range r.Action.Targets {
			if w.Weight != 1 {
				t.Errorf("%s has the weight %d", w.Group, w.Weight)
			}
		}
	}
	plain := lb.Capabilities{NoStickyForward: true, FieldsRefused: []string{"source"}, MaxPriority: 1}
	for _, c := range []lb.Capabilities{lb.ALB(), lb.ALBGlob(), lb.Literal(), plain} {
		r := plan.ParkingRule([]lb.GroupID{"a", "b"}, c)
		if why := plan.Excluded(plan.CreateRule{Priority: c.MaxPriority, Rule: r}, c); why != "" || !plan.Parked(r) {
			t.Errorf("%s: the rule has %s: %v", c.Name, why, r)
		}
	}
	if plan.Parked(lb.Rule{Conditions: []lb.Condition{{Field: "host", Values: []string{"warm.invalid"}}}}) {
		t.Error("a rule for a host alone is a parking rule")
	}
}

// The last eighth of the priorities is kept for parking rules, and at most 16 of them.
func TestPrioritiesOfParkingRules(t *testing.T) {
	for _, c := range []struct{ least, most, first, count int }{
		{1, 50_000, 49_985, 16},
		{1, 128, 113, 16},
		{1, 127, 113, 15},
		{1, 8, 8, 1},
		{1, 7, 0, 0},
		{11, 18, 18, 1},
	} {
		got := plan.ParkingPriorities(lb.Capabilities{MinPriority: c.least, MaxPriority: c.most})
		if len(got) != c.count || c.count > 0 && (got[0] != c.first || got[c.count-1] != c.most || !slices.IsSorted(got)) {
			t.Errorf("of %d to %d, %d are kept: %v", c.least, c.most, len(got), got)
		}
	}
}
