package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/clouds"
)

// This file gives the pods of the demo addresses that may be targets. They listen on a loopback
// address, which may not be one.

const (
	// podAddress is the address of the pods and the Node in the objects. It is reserved for
	// documentation (RFC 5737), so that no machine has it.
	podAddress = "192.0.2.1"
	// podListens is the address that the pods listen at.
	podListens = "127.0.0.1"
)

// A loopback is a cloud on this machine that sends requests to the address that pods listen at.
type loopback struct{ clouds.Local }

// Apply implements Provider.
func (l loopback) Apply(
	ctx context.Context, seen *lb.Observed, step plan.Step,
) (plan.Result, error) {
	if s, ok := step.(plan.RegisterTargets); ok {
		s.Targets = listening(s.Targets)
		result, err := l.Local.Apply(ctx, seen, s)
		return result, refusal(err)
	}
	return l.Local.Apply(ctx, seen, step)
}

// errNoTarget is the error of a provider that rejects the pods as targets.
var errNoTarget = errors.New("targets on this machine are refused")

func refusal(err error) error {
	if errors.Is(err, providers.ErrRejected) {
		return fmt.Errorf("%w: %w", errNoTarget, err)
	}
	return err
}

// SetTargets implements Provider.
func (l loopback) SetTargets(
	ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target,
) error {
	return refusal(l.Local.SetTargets(ctx, key, group, listening(want)))
}

// listening returns targets with the address that pods listen at.
func listening(targets []lb.Target) []lb.Target {
	out := slices.Clone(targets)
	for i := range out {
		if out[i].Address == podAddress {
			out[i].Address = podListens
		}
	}
	return out
}
