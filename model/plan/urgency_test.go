package plan_test

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/plan"
)

func TestWhatRestrictsIsUrgentAndWhatItNeeds(t *testing.T) {
	p := plan.Plan{Steps: []plan.Planned{
		{Step: plan.CreateTargetGroup{}},                  // for the rule that changes
		{Step: plan.CreateTargetGroup{}},                  // for a new rule
		{Step: plan.AwaitTargets{}, After: []int{0}},      // before the rule changes
		{Step: plan.CreateRule{}, After: []int{1}},        // new
		{Step: plan.ModifyRule{}, After: []int{2}},        // changes where requests go
		{Step: plan.DeleteTargetGroup{}, After: []int{4}}, // tidies up
		{Step: plan.SetWebACL{}},
		{Step: plan.DeleteRule{}},
	}}
	want := []bool{true, false, true, false, true, false, true, true}
	if got := p.Urgent(); !slices.Equal(got, want) {
		t.Errorf("urgent are %v, want %v", got, want)
	}
}

// The first step of a plan is urgent like any other one.
func TestAFirstStepThatRestrictsIsUrgent(t *testing.T) {
	p := plan.Plan{Steps: []plan.Planned{{Step: plan.DeleteRule{}}, {Step: plan.CreateRule{}}}}
	if got := p.Urgent(); !slices.Equal(got, []bool{true, false}) {
		t.Errorf("urgent are %v", got)
	}
}
