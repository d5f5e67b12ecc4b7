package providers

import (
	"context"

	"fairlead.dev/fairlead/model/lb"
)

// This file says on whose behalf a cloud is asked. Where calls wait for its rate, it decides whose
// turn is next.

// An Asker is on whose behalf a cloud is asked.
type Asker struct {
	Key lb.Key // empty for no load balancer
	// Urgent says that the call restricts or repairs what is served.
	Urgent bool
	// Waits is told when a call begins to wait for its turn. What it returns is told when the wait is
	// over. It may be nil.
	Waits func() (over func())
}

type askerKey struct{}

// WithAsker has the calls that are made with a context made on behalf of an asker.
func WithAsker(ctx context.Context, a Asker) context.Context {
	return context.WithValue(ctx, askerKey{}, a)
}

// AskerOf is on whose behalf the calls of a context are made.
func AskerOf(ctx context.Context) Asker {
	a, _ := ctx.Value(askerKey{}).(Asker)
	return a
}

// About has calls made for a load balancer.
func About(ctx context.Context, key lb.Key) context.Context {
	a := AskerOf(ctx)
	if a.Key == key {
		return ctx
	}
	a.Key = key
	return WithAsker(ctx, a)
}

// Urgently has calls made that restrict or repair what is served, or that do not.
func Urgently(ctx context.Context, urgent bool) context.Context {
	a := AskerOf(ctx)
	if a.Urgent == urgent {
		return ctx
	}
	a.Urgent = urgent
	return WithAsker(ctx, a)
}

// waits tells that a call begins to wait.
func (a Asker) waits() (over func()) {
	if a.Waits == nil {
		return func() {}
	}
	return a.Waits()
}
