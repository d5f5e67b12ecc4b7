package demo

import (
	"context"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/clouds"
)

// This file gives the pods of the demo an address that may be a target. They listen on a loopback
// address, which is never one.

const (
	// podAddress is what the pods and the node of the demo are known by. It belongs to a network for
	// documentation, so that no machine has it: RFC 5737.
	podAddress = "192.0.2.1"
	// podListens is where the pods listen.
	podListens = "127.0.0.1"
)

// A loopback is a cloud on this machine that finds pods where they listen.
type loopback struct{ clouds.Local }

// Apply is for the Provider interface.
func (l loopback) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if s, ok := step.(plan.RegisterTargets); ok {
		s.Targets = listening(s.Targets)
		step = s
	}
	return l.Local.Apply(ctx, seen, step)
}

// SetTargets is for the Provider interface.
func (l loopback) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	return l.Local.SetTargets(ctx, key, group, listening(want))
}

// listening are targets where they listen.
func listening(targets []lb.Target) []lb.Target {
	out := slices.Clone(targets)
	for i := range out {
		if out[i].Address == podAddress {
			out[i].Address = podListens
		}
	}
	return out
}
