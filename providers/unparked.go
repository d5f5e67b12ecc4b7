package providers

import (
	"errors"
	"fmt"

	"fairlead.dev/fairlead/model/plan"
)

// This file runs a plan of which the cloud refuses a parking rule. No object asks for such a rule:
// it only keeps requests from reaching targets before they are healthy. The plan goes on without
// it, as one does for which there is no room for a parking rule.

// refusedParking reports whether the cloud refused a parking rule.
func refusedParking(a applied) bool {
	create, ok := a.step.(plan.CreateRule)
	return ok && plan.Parked(create.Rule) && errors.Is(a.err, ErrRejected)
}

// unpark makes the steps needless that belong to a parking rule: those that wait for the health of
// its target groups, which the cloud does not check now, and the one that deletes the rule.
func (r *run) unpark(a applied) {
	r.unparked = append(r.unparked, a)
	parking := a.step.(plan.CreateRule)
	for _, next := range r.followers[a.index] {
		if _, awaits := r.plan.Steps[next].Step.(plan.AwaitTargets); awaits {
			r.needless[next] = true
		}
	}
	for i, s := range r.plan.Steps {
		if del, ok := s.Step.(plan.DeleteRule); ok && del.Port == parking.Port && del.Priority == parking.Priority {
			r.needless[i] = true
		}
	}
}

// withoutParking are the parking rules that were refused.
func (r *run) withoutParking() []Rejection {
	var out []Rejection
	for _, a := range r.unparked {
		err := fmt.Errorf("applying %s %s: %w", a.step.Op(), a.step.ID(), a.err)
		out = append(out, Rejection{a.step, r.plan.Steps[a.index].Origin, err})
	}
	return out
}
