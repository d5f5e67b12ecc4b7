package plan

import (
	"slices"
	"testing"
)

// Without its deletions, a plan has neither steps that delete rules nor steps that come after one,
// and the others in their order.
func TestAPlanWithoutItsDeletions(t *testing.T) {
	p := Plan{Key: "key", Steps: []Planned{
		{Step: DeleteRule{Port: 80, Priority: 1}},
		{Step: CreateTargetGroup{}},
		{Step: DeleteTargetGroup{}, After: []int{0}},
		{Step: CreateRule{Port: 80}, After: []int{1}},
		{Step: ModifyRule{Port: 80}, After: []int{1, 3}},
		{Step: DeleteFirewall{}, After: []int{2, 4}},
		{Step: DeleteListener{Port: 443}},
		{Step: CreateListener{}, After: []int{4}},
		{Step: DeleteLoadBalancer{}},
	}}
	got := WithoutDeletions(p)
	want := []Planned{
		{Step: CreateTargetGroup{}}, {Step: CreateRule{Port: 80}, After: []int{0}},
		{Step: ModifyRule{Port: 80}, After: []int{0, 1}}, {Step: CreateListener{}, After: []int{2}},
	}
	if !slices.EqualFunc(got.Steps, want, func(a, b Planned) bool {
		return a.Step.Op() == b.Step.Op() && slices.Equal(a.After, b.After)
	}) || got.Key != p.Key {
		t.Errorf("there is %+v", got)
	}
}
