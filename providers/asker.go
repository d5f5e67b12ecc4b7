package providers

import (
	"context"

	"fairlead.dev/fairlead/model/lb"
)

// This file holds on whose behalf a call is made: the load balancer, and its urgency. If calls wait
// for a rate, it decides their order.

// An Asker describes on whose behalf a call is made.
type Asker struct {
	Key lb.Key // empty for no load balancer
	// Urgent calls restrict or repair the routing.
	Urgent bool
	// Waits is called when a call begins to wait for its turn. The function that it returns is called
	// when the wait is over. It may be nil.
	Waits func() (over func())
}

type askerKey struct{}

// WithAsker returns a context for calls on behalf of an asker.
func WithAsker(ctx context.Context, a Asker) context.Context {
	return context.WithValue(ctx, askerKey{}, a)
}

// AskerOf returns the asker of a context.
func AskerOf(ctx context.Context) Asker {
	a, _ := ctx.Value(askerKey{}).(Asker)
	return a
}

// About returns a context for calls about a load balancer.
func About(ctx context.Context, key lb.Key) context.Context {
	a := AskerOf(ctx)
	if a.Key == key {
		return ctx
	}
	a.Key = key
	return WithAsker(ctx, a)
}

// Urgently returns a context for calls that are urgent, or not.
func Urgently(ctx context.Context, urgent bool) context.Context {
	a := AskerOf(ctx)
	if a.Urgent == urgent {
		return ctx
	}
	a.Urgent = urgent
	return WithAsker(ctx, a)
}

// waits calls Waits.
func (a Asker) waits() (over func()) {
	if a.Waits == nil {
		return func() {}
	}
	return a.Waits()
}
