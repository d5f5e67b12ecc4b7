// Package course has the objects that exist between the steps of a plan, and the orders that the
// steps may have. It follows the definitions of steps and does not use the planner.
package course

import (
	"math/bits"

	"fairlead.dev/fairlead/model/plan"
)

// This file has the orders that a plan allows: its states are the sets of steps that have every
// predecessor of each of their steps.

// Never is used as the first step of what exists before the plan, and as the last of what stays.
const Never = -1

// A Set is a set of steps, by their indices in the plan.
type Set []uint64

// Has reports whether a step is in the set.
func (s Set) Has(step int) bool { return step >= 0 && s[step/64]&(1<<(step%64)) != 0 }

// Add adds the steps of another set.
func (s Set) Add(o Set) {
	for i := range o {
		s[i] |= o[i]
	}
}

// An Order is, for each step, the steps that are done once it is done, itself included.
type Order []Set

// NewOrder returns the order of a plan.
func NewOrder(p plan.Plan) Order {
	o := make(Order, len(p.Steps))
	for i, s := range p.Steps {
		o[i] = make(Set, o.SetLength())
		o[i][i/64] |= 1 << (i % 64)
		for _, before := range s.After {
			o[i].Add(o[before])
		}
	}
	return o
}

// SetLength returns the length of a Set.
func (o Order) SetLength() int { return (len(o) + 63) / 64 }

// MustPrecede reports whether first is then, or is always done before it.
func (o Order) MustPrecede(first, then int) bool { return then >= 0 && o[then].Has(first) }

// Steps returns the steps of a set in the order of the plan.
func (s Set) Steps() []int {
	var out []int
	for word, all := range s {
		for ; all != 0; all &= all - 1 {
			out = append(out, 64*word+bits.TrailingZeros64(all))
		}
	}
	return out
}

// AllSteps returns all steps in the order of the plan.
func (o Order) AllSteps() []int {
	out := make([]int, len(o))
	for i := range out {
		out[i] = i
	}
	return out
}

// WithPredecessors returns steps with their predecessors, each after its own.
func (o Order) WithPredecessors(steps ...int) []int {
	var out []int
	known := make(Set, o.SetLength())
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
