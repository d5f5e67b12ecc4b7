package proof

import "fairlead.dev/fairlead/model/plan"

// Serial returns the plan with each step after the one before it.
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
