package plan

import "fairlead.dev/fairlead/model/lb"

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
