package proof

import "fairlead.dev/fairlead/model/plan"

// Serial is a plan with its steps one after the other, in the order of the plan.
func Serial(p plan.Plan) plan.Plan {
	out := p
	out.Steps = make([]plan.Planned, len(p.Steps))
	for i, s := range p.Steps {
		if s.After = nil; i > 0 {
			s.After = []int{i - 1}
		}
		out.Steps[i] = s
	}
	return out
}
