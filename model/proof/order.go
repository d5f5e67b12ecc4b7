package proof

import (
	"math/bits"

	"fairlead.dev/fairlead/model/plan"
)

// This file has the orders that a plan allows: its states are the sets of steps that have every
// predecessor of each of their steps.

// never is used as the first step of what exists before the plan, and as the last of what stays.
const never = -1

// A set is a set of steps, by their indices in the plan.
type set []uint64

// Has reports whether a step is in the set.
func (s set) Has(step int) bool { return step >= 0 && s[step/64]&(1<<(step%64)) != 0 }

// Add adds the steps of another set.
func (s set) Add(o set) {
	for i := range o {
		s[i] |= o[i]
	}
}

// An order is, for each step, the steps that are done once it is done, itself included.
type order []set

// newOrder returns the order of a plan.
func newOrder(p plan.Plan) order {
	o := make(order, len(p.Steps))
	for i, s := range p.Steps {
		o[i] = make(set, o.SetLength())
		o[i][i/64] |= 1 << (i % 64)
		for _, before := range s.After {
			o[i].Add(o[before])
		}
	}
	return o
}

// SetLength returns the length of a Set.
func (o order) SetLength() int { return (len(o) + 63) / 64 }

// MustPrecede reports whether the two steps are the same one, or the first is always done before the other.
func (o order) MustPrecede(first, then int) bool { return then >= 0 && o[then].Has(first) }

// Steps returns the steps of a set in the order of the plan.
func (s set) Steps() []int {
	var out []int
	for word, all := range s {
		for ; all != 0; all &= all - 1 {
			out = append(out, 64*word+bits.TrailingZeros64(all))
		}
	}
	return out
}

// AllSteps returns all steps in the order of the plan.
func (o order) AllSteps() []int {
	out := make([]int, len(o))
	for i := range out {
		out[i] = i
	}
	return out
}

// WithPredecessors returns steps with their predecessors, each after its own.
func (o order) WithPredecessors(steps ...int) []int {
	var out []int
	known := make(set, o.SetLength())
	for _, last := range steps {
		for _, i := range o[last].Steps() {
			if !known.Has(i) {
				out = append(out, i)
			}
		}
		known.Add(o[last])
	}
	return out
}
