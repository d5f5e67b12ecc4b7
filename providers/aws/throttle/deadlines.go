package throttle

import (
	"context"
	"errors"
	"fmt"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"fairlead.dev/fairlead/providers"
)

// This file ends calls that AWS does not answer, and keeps those from being sent that this process
// may not make any more. The SDK's own client waits without end for an answer
// (https://docs.aws.amazon.com/sdk-for-go/v2/developer-guide/configure-http.html).

// Deadlines are how long AWS may take. The wait for a turn is not part of either.
type Deadlines struct {
	Attempt time.Duration // for each attempt of a call
	// for a call with all of its attempts, and with the credentials that it needs
	Call time.Duration
}

// WithDefaults are the deadlines where none are set.
func (d Deadlines) WithDefaults() Deadlines {
	if d.Attempt <= 0 {
		d.Attempt = 15 * time.Second
	}
	if d.Call <= 0 {
		d.Call = time.Minute
	}
	return d
}

// An timeoutError is the error of a call that AWS did not answer in time. It may have been carried
// out.
type timeoutError struct {
	operation string
	within    time.Duration
	final     bool // no time is left for another attempt
}

func (e timeoutError) Error() string {
	return fmt.Sprintf("%s was not answered within %s", e.operation, e.within)
}

// RetryableError has the SDK make another attempt.
func (e timeoutError) RetryableError() bool { return !e.final }

// IsTimeout reports whether an error is that of a call that AWS did not answer in time.
func IsTimeout(err error) bool {
	_, is := errors.AsType[timeoutError](err)
	return is
}

// AddTo puts the deadline of a call around all of it, and that of an attempt behind the wait for its
// turn.
func (d Deadlines) AddTo(stack *middleware.Stack) error {
	//nolint:misspell // the SDK names it so
	if err := stack.Initialize.Add(middleware.InitializeMiddlewareFunc("CallDeadline", d.limitCall),
		middleware.Before); err != nil {
		return err
	}
	//nolint:misspell // the SDK names it so
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("AttemptDeadline", d.limitAttempt),
		"Pace", middleware.After)
}

// limitCall ends a call that takes too long.
func (d Deadlines) limitCall(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	late := timeoutError{awsmiddleware.GetOperationName(ctx), d.Call, true}
	timed, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newStopwatch(d.Call, func() { cancel(late) })
	defer w.pause()
	out, metadata, err := next.HandleInitialize(context.WithValue(timed, stopwatchKey{}, w), in)
	if err != nil && errors.Is(context.Cause(timed), late) {
		err = late
	}
	return out, metadata, err
}

// limitAttempt ends an attempt that takes too long, and does not begin one that changes something for an
// operator that may not change anything any more.
func (d Deadlines) limitAttempt(ctx context.Context, in middleware.FinalizeInput,
	next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	operation := awsmiddleware.GetOperationName(ctx)
	if !reads(operation) {
		if err := providers.MayWrite(ctx); err != nil {
			return middleware.FinalizeOutput{}, middleware.Metadata{},
				fmt.Errorf("calling %s: %w", operation, err)
		}
	}
	timed, cancel := context.WithTimeout(ctx, d.Attempt)
	defer cancel()
	out, metadata, err := next.HandleFinalize(timed, in)
	if err != nil && ctx.Err() == nil && timed.Err() != nil {
		err = timeoutError{operation, d.Attempt, false}
	}
	return out, metadata, err
}

// A stopwatch runs while a call does, and stands still while the call waits for its turn. One call at a
// time uses it.
type stopwatch struct {
	timer *time.Timer
	left  time.Duration
	since time.Time
}

type stopwatchKey struct{}

func newStopwatch(d time.Duration, ring func()) *stopwatch {
	return &stopwatch{timer: time.AfterFunc(d, ring), left: d, since: time.Now()}
}

// stopwatchOf is the watch of a call; nil if it has none.
func stopwatchOf(ctx context.Context) *stopwatch {
	w, _ := ctx.Value(stopwatchKey{}).(*stopwatch)
	return w
}

func (w *stopwatch) pause() {
	if w != nil && w.timer.Stop() {
		w.left -= time.Since(w.since)
	}
}

func (w *stopwatch) resume() {
	if w != nil {
		w.since = time.Now()
		w.timer.Reset(max(w.left, 0))
	}
}
