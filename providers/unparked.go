package providers

import (
	"errors"
	"fmt"

	"fairlead.dev/fairlead/model/plan"
)

// This file continues a plan if the cloud rejects a parking rule. No object asks for such a rule:
// it only keeps requests from targets that are not healthy yet. The plan continues without it, as a
// plan does if there is no room for a parking rule.

// refusedParking reports whether the cloud refused a parking rule.
func refusedParking(a applied) bool {
	create, ok := a.step.(plan.CreateRule)
	return ok && plan.Parked(create.Rule) && errors.Is(a.err, ErrRejected)
}

// unpark marks the steps of a parking rule as needless: the waits for the health of its target
// groups, which the cloud does not check now, and the deletion of the rule.
func (r *run) unpark(a applied) {
	r.unparked = append(r.unparked, a)
	parking := a.step.(plan.CreateRule)
	for _, next := range r.followers[a.index] {
		if _, awaits := r.plan.Steps[next].Step.(plan.AwaitTargets); awaits {
			r.needless[next] = true
		}
	}
	for i, s := range r.plan.Steps {
		if del, ok := s.Step.(plan.DeleteRule); ok && del.Port == parking.Port &&
			del.Priority == parking.Priority {
			r.needless[i] = true
		}
	}
}

// withoutParking returns the parking rules that were rejected.
func (r *run) withoutParking() []Rejection {
	var out []Rejection
	for _, a := range r.unparked {
		err := fmt.Errorf("applying %s %s: %w", a.step.Op(), a.step.ID(), a.err)
		out = append(out, Rejection{a.step, r.plan.Steps[a.index].Origin, err})
	}
	return out
}
