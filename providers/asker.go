package providers

import (
	"context"
	"slices"
	"sync/atomic"

	"fairlead.dev/fairlead/model/lb"
)

// This file holds the load balancer of a call, and its urgency. They decide the order of calls that
// wait for a rate.

// An Asker describes the origin of a call.
type Asker struct {
	Key lb.Key // the load balancer; empty for none
	// Urgent calls restrict or repair the routing.
	Urgent bool
	// Waits is called when a call begins to wait for its turn. The function that it returns is called
	// when the wait is over. It may be nil.
	Waits func() (over func())
}

type askerKey struct{}

// WithAsker returns a context for the calls of an asker.
func WithAsker(ctx context.Context, a Asker) context.Context {
	return context.WithValue(ctx, askerKey{}, a)
}

// AskerOf returns the asker of a context.
func AskerOf(ctx context.Context) Asker {
	a, _ := ctx.Value(askerKey{}).(Asker)
	return a
}

// WithKey returns a context for calls for a load balancer.
func WithKey(ctx context.Context, key lb.Key) context.Context {
	a := AskerOf(ctx)
	if a.Key == key {
		return ctx
	}
	a.Key = key
	return WithAsker(ctx, a)
}

// WithUrgency returns a context for urgent calls, or for others.
func WithUrgency(ctx context.Context, urgent bool) context.Context {
	a := AskerOf(ctx)
	if a.Urgent == urgent {
		return ctx
	}
	a.Urgent = urgent
	return WithAsker(ctx, a)
}

type ownKey struct{}

// WithOwn returns a context in which SetTargets removes no other targets than these: others register
// targets in the same group.
func WithOwn(ctx context.Context, own []lb.Target) context.Context {
	return context.WithValue(ctx, ownKey{}, own)
}

// MayRemove reports whether SetTargets may remove a target.
func MayRemove(ctx context.Context, t lb.Target) bool {
	own, some := ctx.Value(ownKey{}).([]lb.Target)
	return !some || slices.Contains(own, t)
}

type planKey struct{}

// withPlan returns a context whose calls wait for their turn only until the context of their plan
// ends. A call that was sent is not ended by it.
func withPlan(ctx, plan context.Context) context.Context {
	return context.WithValue(ctx, planKey{}, plan)
}

// PlanOf returns the context of the plan of a call: a call that is not sent yet ends with it. Without
// a plan it is the context of the call.
func PlanOf(ctx context.Context) context.Context {
	if plan, ok := ctx.Value(planKey{}).(context.Context); ok {
		return plan
	}
	return ctx
}

type sentKey struct{}

// withSent returns a context for the calls of a step. Sent is set once one of them was sent, so that the
// cloud may have a part of the step.
func withSent(ctx context.Context, sent *atomic.Bool) context.Context {
	return context.WithValue(ctx, sentKey{}, sent)
}

// noteSent records that a call was sent.
func noteSent(ctx context.Context) {
	if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
		sent.Store(true)
	}
}

// waits calls Waits.
func (a Asker) waits() (over func()) {
	if a.Waits == nil {
		return func() {}
	}
	return a.Waits()
}
