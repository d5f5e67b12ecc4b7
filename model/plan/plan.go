// Package plan has the steps that change a load balancer, and plans, which are ordered lists of
// steps. A plan is a value: it is printed, counted, folded in tests, and carried out by package
// providers. Package planner makes plans.
package plan

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
)

// A Plan is what to do to one load balancer, in an order that is safe.
type Plan struct {
	Key         lb.Key
	Steps       []Planned
	Diagnostics []diag.Diagnostic
}

// Planned is a step with what must have been done before it. Steps whose predecessors are done
// may run in any order and at the same time.
type Planned struct {
	Step  Step
	After []int // indices into Steps, ascending, each smaller than this step's own
	// Origin are the routes that ask for it, where not all do: a step that the cloud rejects is theirs
	// to answer for, or to be told of.
	Origin []diag.Source
	// Early is why a step does not wait for all that should come before it; "" where it does. A
	// diagnostic of the plan says what that costs the requests that the step concerns.
	Early diag.Reason
}

// Empty reports whether there is nothing to do.
func (p Plan) Empty() bool { return len(p.Steps) == 0 }

// Fold returns the state after the plan, with the results that a cloud assigns left empty.
func (p Plan) Fold(o *lb.Observed) *lb.Observed {
	out := o.Clone()
	out.Read = nil // they are those before the plan
	for _, s := range p.Steps {
		s.Step.Do(out, Result{})
	}
	return out
}

// SourceOf is where diagnostics about a load balancer point to.
func SourceOf(key lb.Key) diag.Source {
	return diag.Source{Kind: "LoadBalancer",
		Name: string(key)}
}
