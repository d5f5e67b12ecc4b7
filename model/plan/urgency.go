package plan

// This file finds the urgent steps of a plan. They run first while calls to the cloud are
// rate-limited.

// Urgent returns, by index, whether a step restricts or repairs the answers to requests, or such a
// step waits for it. Steps that only add or clean up are not urgent.
func (p Plan) Urgent() []bool {
	out := make([]bool, len(p.Steps))
	for i := len(p.Steps) - 1; i >= 0; i-- {
		out[i] = out[i] || urgent(p.Steps[i].Step)
		if out[i] {
			for _, before := range p.Steps[i].After {
				out[before] = true
			}
		}
	}
	return out
}

// urgent reports whether a step removes something that is served, changes which clients may
// connect, or changes the answers to served requests.
func urgent(s Step) bool {
	switch s.(type) {
	case ModifyLoadBalancer, DeleteLoadBalancer, SetWebACL, ShieldLoadBalancer,
		ReplaceCertificate, DetachCertificate,
		ModifyListener, DeleteListener, ModifyRule, DeleteRule:
		return true
	default: // it adds, or cleans up
		return false
	}
}
