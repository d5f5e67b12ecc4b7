// Package plan has the steps that change a load balancer, and plans, which are ordered lists of
// steps. A plan is a value: it is printed, counted, folded in tests, and carried out by package
// providers. Package planner makes plans.
package plan

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
)

// A Plan is a list of steps for one load balancer, in a safe order.
type Plan struct {
	Key         lb.Key
	Steps       []Planned
	Diagnostics []diag.Diagnostic
}

// A Planned is a step with its predecessors. Steps whose predecessors are done may run in any order
// and at the same time.
type Planned struct {
	Step  Step
	After []int // indices into Steps, ascending, each smaller than this step's own
	// Origin has the routes that need the step, unless all do. If the cloud rejects it, these routes
	// are reported.
	Origin []diag.Source
	// Early is the reason why a step does not wait for all steps that should come before it; "" if it
	// does. A diagnostic of the plan reports the effect on requests.
	Early diag.Reason
}

// Namespaces returns the namespaces whose routes need a step, or have the rule that it deletes or the
// target group that it is about; none if that is not known.
func (p Planned) Namespaces() []string {
	var out []string
	for _, source := range p.Origin {
		out = append(out, source.Namespace)
	}
	if len(out) == 0 {
		switch s := p.Step.(type) {
		case DeleteRule:
			out = NamespacesOf(s.Rule)
		case CreateTargetGroup: // of the default action of a listener, which has no origin
			out = []string{namespaceOf(s.Group.ID)}
		case ModifyTargetGroup:
			out = []string{namespaceOf(s.Group.ID)}
		case RegisterTargets:
			out = []string{namespaceOf(s.Group)}
		case AwaitTargets:
			out = []string{namespaceOf(s.Group)}
		case DeleteTargetGroup:
			out = []string{namespaceOf(s.Group)}
		default: // it is not known
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// NamespacesOf returns the namespaces of the target groups of a rule; none for a rule that answers
// itself, and for groups that others made.
func NamespacesOf(r lb.Rule) []string {
	var out []string
	for _, id := range r.Action.Groups() {
		if !lb.OthersMade(id) {
			out = append(out, namespaceOf(id))
		}
	}
	return out
}

// namespaceOf returns the namespace of a target group's Service.
func namespaceOf(id lb.GroupID) string {
	namespace, _, _ := strings.Cut(string(id), "/")
	return namespace
}

// Empty reports whether the plan has no steps.
func (p Plan) Empty() bool { return len(p.Steps) == 0 }

// Fold returns the state after the plan, with the results that a cloud assigns left empty.
func (p Plan) Fold(o *lb.Observed) *lb.Observed {
	out := o.Clone()
	out.Read = nil // these are from before the plan
	for _, s := range p.Steps {
		s.Step.Do(out, Result{})
	}
	return out
}

// SourceOf returns the source of diagnostics about a load balancer.
func SourceOf(key lb.Key) diag.Source {
	return diag.Source{Kind: "LoadBalancer",
		Name: string(key)}
}
