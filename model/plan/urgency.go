package plan

// This file says which steps of a plan are urgent: those go first where calls of the cloud have to
// wait for its rate.

// Urgent are, by index, the steps that restrict or repair what is served, and those that have to be
// done before them. What is only added, or tidied up, is not urgent.
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
// connect, or changes where requests that are served now go.
func urgent(s Step) bool {
	switch s.(type) {
	case ModifyLoadBalancer, DeleteLoadBalancer, GuardLoadBalancer, ShieldLoadBalancer,
		ReplaceCertificate, DetachCertificate,
		ModifyListener, DeleteListener, ModifyRule, DeleteRule:
		return true
	default: // makes something, or tidies up
		return false
	}
}
