package proof

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/plan"
)

// TestUntilHasEachStepOnce: what several steps wait for is done once, in the order of the plan.
func TestUntilHasEachStepOnce(t *testing.T) {
	p := plan.Plan{Steps: []plan.Planned{{}, {After: []int{0}}, {After: []int{0}}, {}, {After: []int{1, 3}}}}
	if got := newOrder(p).WithPredecessors(2, 4); !slices.Equal(got, []int{0, 2, 1, 3, 4}) {
		t.Errorf("the steps are %v", got)
	}
}
