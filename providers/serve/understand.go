package serve

import (
	"errors"
	"fmt"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/wire"
)

// This file finds errors in steps that decode.

// understand decodes a step.
func (s *Server) understand(key lb.Key, asked v1.Requested) (plan.Step, *v1.Problem) {
	if asked.ID == "" || len(asked.ID) > longestID {
		return nil, malformedProblem("its id has %d bytes, and has to have 1 to %d",
			len(asked.ID), longestID)
	}
	wanted := asked.Step
	if wanted.Op == v1.DeleteRule {
		wanted.Rule = nil // it comes from an observation, and can have any form
	}
	for _, f := range []*fault{checkValues(wanted), s.settings(wanted), checkActions(wanted)} {
		if f != nil {
			return nil, f.problem()
		}
	}
	step, err := wire.DecodeStep(key, asked.Step)
	if err != nil {
		if p := new(v1.Problem); errors.As(err, &p) {
			return nil, p
		}
		return nil, malformedProblem("%v", err)
	}
	return step, nil
}

// settings finds settings of another provider.
func (s *Server) settings(step v1.Step) *fault {
	refused := func(place string) *fault {
		return unknown("is not known: this provider has no settings of its own").in(place)
	}
	if l := step.LoadBalancer; l != nil && len(l.Settings.Provider) > 0 &&
		len(s.options.Schemas.LoadBalancer) == 0 {
		return refused("loadBalancer.settings.provider")
	}
	if g := step.TargetGroup; g != nil && len(g.Provider) > 0 &&
		len(s.options.Schemas.TargetGroup) == 0 {
		return refused("targetGroup.provider")
	}
	return nil
}

// checkActions finds actions that have no kind or several, and conditions without any.
func checkActions(step v1.Step) *fault {
	if l := step.Listener; l != nil {
		if f := action(l.Default); f != nil {
			return f.in("listener.default")
		}
	}
	if step.Rule == nil {
		return nil
	}
	for i, c := range step.Rule.Conditions {
		if (len(c.Values) > 0) == (len(c.Regex) > 0) {
			at := fmt.Sprintf("rule.conditions[%d]", i)
			return wrong("has to have values or regex, and not both").in(at)
		}
		if c.Field == "" {
			return wrong("has no field").in(fmt.Sprintf("rule.conditions[%d]", i))
		}
	}
	return action(step.Rule.Action).in("rule.action")
}

func action(a v1.Action) *fault {
	has := map[string]bool{"forward": a.Forward != nil, "fixed": a.Fixed != nil,
		"redirect": a.Redirect != nil}
	for kind, is := range has {
		if is != (kind == a.Kind) || !has[a.Kind] {
			return wrong("is of kind %q: it has to have that field, and neither of the other two of "+
				"forward, fixed and redirect", a.Kind)
		}
	}
	if a.Forward != nil && len(a.Forward.Targets) == 0 {
		return wrong("forwards to no target group")
	}
	return nil
}
