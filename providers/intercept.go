package providers

import (
	"context"
	"fmt"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file wraps the calls of a provider. Whatever holds for every call, or for every call that
// changes something, is a Wrapper: metering, turns, read-only and Revocable.

// A Call is a call of a Provider that is about to be made.
type Call struct {
	Method string     // of Provider or Adopter
	Key    lb.Key     // the load balancer; empty for none
	Group  lb.GroupID // the target group of Targets and SetTargets
	Step   plan.Step  // of Apply
}

// Changes reports whether the call changes something in the cloud.
func (c Call) Changes() bool { return changing[c.Method] != "" }

// changing has the methods that change something, with what they do.
var changing = map[string]string{
	"Apply": "applying a step", "SetTargets": "changing the targets",
	"Retag": "changing tags", "Admit": "admitting the load balancer to its targets",
	"Dismiss": "no longer admitting the load balancer to its targets", "Discard": "deleting what is left of others",
}

// Change describes the change that the call makes, as in "create rule 80/10".
func (c Call) Change() string {
	if c.Step != nil {
		return fmt.Sprintf("%s %s", c.Step.Op(), c.Step.ID())
	}
	if c.Group != "" {
		return fmt.Sprintf("%s of %s", changing[c.Method], c.Group)
	}
	return changing[c.Method]
}

// A Wrapper makes a call by calling next, or returns an error without making it. Calls are made on
// several goroutines.
type Wrapper func(ctx context.Context, call Call, next Next) error

// Next makes the wrapped call.
type Next func(context.Context) error

// Intercept returns a provider whose calls pass through a wrapper. Capabilities makes no call.
func Intercept(p Provider, w Wrapper) Provider { return intercepted{p, w} }

type intercepted struct {
	Provider
	wrapper Wrapper
}

// callThrough makes a call through a wrapper. It returns the result also with an error: Lookup and
// List may return a part.
func callThrough[T any](
	ctx context.Context, w Wrapper, c Call, do func(context.Context) (T, error),
) (T, error) {
	var out T
	err := w(ctx, c, func(ctx context.Context) (err error) {
		out, err = do(ctx)
		return err
	})
	return out, err
}

func (i intercepted) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	do := func(ctx context.Context) (lb.Facts, error) { return i.Provider.Lookup(ctx, q) }
	return callThrough(ctx, i.wrapper, Call{Method: "Lookup"}, do)
}

func (i intercepted) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	do := func(ctx context.Context) (*lb.Observed, error) { return i.Provider.Observe(ctx, key, deep) }
	return callThrough(ctx, i.wrapper, Call{Method: "Observe", Key: key}, do)
}

func (i intercepted) Active(ctx context.Context, seen *lb.Observed) (bool, error) {
	do := func(ctx context.Context) (bool, error) { return i.Provider.Active(ctx, seen) }
	return callThrough(ctx, i.wrapper, Call{Method: "Active", Key: seen.Key}, do)
}

func (i intercepted) Apply(
	ctx context.Context, seen *lb.Observed, step plan.Step,
) (plan.Result, error) {
	do := func(ctx context.Context) (plan.Result, error) { return i.Provider.Apply(ctx, seen, step) }
	return callThrough(ctx, i.wrapper, Call{Method: "Apply", Key: seen.Key, Step: step}, do)
}

func (i intercepted) Targets(
	ctx context.Context, key lb.Key, group lb.GroupID,
) ([]lb.TargetHealth, error) {
	do := func(ctx context.Context) ([]lb.TargetHealth, error) {
		return i.Provider.Targets(ctx, key, group)
	}
	return callThrough(ctx, i.wrapper, Call{Method: "Targets", Key: key, Group: group}, do)
}

func (i intercepted) SetTargets(
	ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target,
) error {
	do := func(ctx context.Context) error { return i.Provider.SetTargets(ctx, key, group, want) }
	return i.wrapper(ctx, Call{Method: "SetTargets", Key: key, Group: group}, do)
}

func (i intercepted) List(ctx context.Context) ([]lb.Key, error) {
	return callThrough(ctx, i.wrapper, Call{Method: "List"}, i.Provider.List)
}
