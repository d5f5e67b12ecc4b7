// Package course says what is there from which step of a plan to which, and in which orders the
// steps may come. It is written from what steps mean, and not from how plans are made.
package course

import (
	"math/bits"

	"fairlead.dev/fairlead/model/plan"
)

// This file has the orders that a plan allows: its states are the sets of steps that have every
// predecessor of each of their steps.

// Never is the step that begins what is there before the plan, and ends what stays.
const Never = -1

// A Set is steps by their indices in the plan.
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
		o[i] = make(Set, o.Words())
		o[i][i/64] |= 1 << (i % 64)
		for _, before := range s.After {
			o[i].Add(o[before])
		}
	}
	return o
}

// Words is the length of a set.
func (o Order) Words() int { return (len(o) + 63) / 64 }

// Must reports whether a step, if it is done at all, is done after another one or is that.
func (o Order) Must(first, then int) bool { return then >= 0 && o[then].Has(first) }

// List is the steps of a state in the order of the plan.
func (s Set) List() []int {
	var out []int
	for word, all := range s {
		for ; all != 0; all &= all - 1 {
			out = append(out, 64*word+bits.TrailingZeros64(all))
		}
	}
	return out
}

// Whole are all steps in the order of the plan.
func (o Order) Whole() []int {
	out := make([]int, len(o))
	for i := range out {
		out[i] = i
	}
	return out
}

// Until are steps with all that is done before each, in an order.
func (o Order) Until(steps ...int) []int {
	var out []int
	known := make(Set, o.Words())
	for _, last := range steps {
		for _, i := range o[last].List() {
			if !known.Has(i) {
				out = append(out, i)
			}
		}
		known.Add(o[last])
	}
	return out
}
