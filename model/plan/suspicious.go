package plan

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
)

// Suspicious reports whether a plan deletes more than half of 20 or more rules: this is more likely
// a failed read than intended. The reconciler makes such a plan twice before it runs it, unless an
// Ingress of the rules was deleted.
func Suspicious(p Plan, seen *lb.Observed) bool {
	const many = 20
	if seen == nil || seen.RuleCount() < many {
		return false
	}
	deletes := 0
	for _, s := range p.Steps {
		switch s := s.Step.(type) {
		case DeleteRule:
			deletes++
		case DeleteListener:
			if l := seen.Listener(s.Port); l != nil {
				deletes += len(l.Rules)
			}
		case DeleteLoadBalancer:
			deletes = seen.RuleCount()
		default: // deletes no rule
		}
	}
	return 2*deletes > seen.RuleCount()
}

// WithoutDeletions returns a plan without the steps that delete rules, and without those that come
// after one. What is left has the predecessors of each step, so it is as safe as the whole.
func WithoutDeletions(p Plan) Plan {
	out := Plan{Key: p.Key, Diagnostics: p.Diagnostics}
	at := make([]int, len(p.Steps)) // in out; -1 for a step that is left out
	for i, s := range p.Steps {
		at[i] = -1
		switch s.Step.(type) {
		case DeleteRule, DeleteListener, DeleteLoadBalancer:
			continue
		default:
		}
		after := make([]int, 0, len(s.After))
		for _, before := range s.After {
			after = append(after, at[before])
		}
		if slices.Contains(after, -1) {
			continue
		}
		at[i], s.After = len(out.Steps), after
		out.Steps = append(out.Steps, s)
	}
	return out
}
