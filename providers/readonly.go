package providers

import (
	"context"
	"fmt"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// ReadOnly is a provider that can be looked at, and changes nothing.
func ReadOnly(p Provider) Provider { return readOnly{p} }

type readOnly struct{ Provider }

func (readOnly) Apply(_ context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	return plan.Result{}, fmt.Errorf("%w: changing %s, which is read-only: %s %s", ErrDenied, seen.Key, step.Op(), step.ID())
}

func (readOnly) SetTargets(_ context.Context, key lb.Key, group lb.GroupID, _ []lb.Target) error {
	return fmt.Errorf("%w: changing %s, which is read-only: the targets of %s", ErrDenied, key, group)
}
