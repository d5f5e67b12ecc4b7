package providers

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/go-logr/logr"
)

// This file turns a panic of a provider into an error: one load balancer fails, and the process
// goes on with the others.

// A Panic is the error of a call that panicked.
type Panic struct {
	Value any
	At    string // the function and the line that panicked
}

func (p *Panic) Error() string {
	return fmt.Sprintf("the provider panicked at %s: %v; please report it with the stack in the log",
		p.At, p.Value)
}

// RecoverPanic turns a panic into an error and logs the stack. The caller defers it.
func RecoverPanic(ctx context.Context, err *error) {
	value := recover()
	if value == nil {
		return
	}
	panicked := &Panic{Value: value, At: panickedAt()}
	logr.FromContextOrDiscard(ctx).Error(panicked, "the provider panicked", "stack",
		string(debug.Stack()))
	*err = panicked
}

// CatchPanics returns a function that calls do, and returns an error if do panics. Goroutines of a
// provider need it.
func CatchPanics(ctx context.Context, do func() error) func() error {
	return func() (err error) {
		defer RecoverPanic(ctx, &err)
		return do()
	}
}

// panickedAt returns the place of the panic: the first function below the runtime's.
func panickedAt() string {
	pcs := make([]uintptr, 64)
	// Skips the frames of Callers, panickedAt and Recovered.
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", frame.Function, frame.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}
