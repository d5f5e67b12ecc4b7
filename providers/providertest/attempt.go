package providertest

import (
	"context"
	"fmt"
	"runtime"
)

// An attempt is the T of a clause that runs outside of tests.
type attempt struct {
	ctx      context.Context //nolint:containedctx // as that of a test
	failures []string        // of the clause
	skipped  string          // the reason; "" if it was not skipped
	cleanups []func()
	cleaning bool
	left     []string // errors of the cleanups
}

// run runs a clause, and then its cleanups, the last one first.
func (a *attempt) run(clause func()) {
	a.runInGoroutine(clause)
	a.cleaning = true
	for len(a.cleanups) > 0 {
		last := len(a.cleanups) - 1
		cleanup := a.cleanups[last]
		a.cleanups = a.cleanups[:last]
		a.runInGoroutine(cleanup)
	}
}

// runInGoroutine runs f in a new goroutine, which Fatalf and Skipf can end.
func (a *attempt) runInGoroutine(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				a.Errorf("it panicked: %v", v)
			}
		}()
		f()
	}()
	<-done
}

// Helper implements T.
func (a *attempt) Helper() {}

// Context implements T.
func (a *attempt) Context() context.Context { return a.ctx }

// Errorf implements T.
func (a *attempt) Errorf(format string, args ...any) {
	said := fmt.Sprintf(format, args...)
	if a.cleaning {
		a.left = append(a.left, said)
		return
	}
	a.failures = append(a.failures, said)
}

// Fatalf implements T.
func (a *attempt) Fatalf(format string, args ...any) {
	a.Errorf(format, args...)
	runtime.Goexit()
}

// Skipf implements T.
func (a *attempt) Skipf(format string, args ...any) {
	a.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// Cleanup implements T.
func (a *attempt) Cleanup(f func()) { a.cleanups = append(a.cleanups, f) }
