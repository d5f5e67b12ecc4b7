package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"fairlead.dev/fairlead/providers"
)

// This file ends calls that AWS does not answer, and blocks writes when this process has lost its
// lease. The SDK's own client waits for an answer without a limit
// (https://docs.aws.amazon.com/sdk-for-go/v2/developer-guide/configure-http.html).

// Deadlines limit the time of calls. The wait for a turn does not count.
type Deadlines struct {
	// of each attempt of a call that only reads. A change is not attempted again while AWS may still
	// carry it out: its attempt has the time of the call.
	Attempt time.Duration
	// of a call with all of its attempts, and with the reading of its credentials
	Call time.Duration
}

// WithDefaults returns the deadlines, with defaults for those that are not set.
func (d Deadlines) WithDefaults() Deadlines {
	if d.Attempt <= 0 {
		d.Attempt = 15 * time.Second
	}
	if d.Call <= 0 {
		d.Call = time.Minute
	}
	return d
}

// A timeoutError is the error of a call that AWS did not answer in time. AWS may have carried it
// out.
type timeoutError struct {
	operation string
	within    time.Duration
	final     bool // no time is left for another attempt
}

func (e timeoutError) Error() string {
	return fmt.Sprintf("%s was not answered within %s", e.operation, e.within)
}

// RetryableError reports to the SDK whether to make another attempt.
func (e timeoutError) RetryableError() bool { return !e.final }

// IsTimeout reports whether AWS did not answer the call in time.
func IsTimeout(err error) bool {
	_, is := errors.AsType[timeoutError](err)
	return is
}

// AddTo adds two middlewares. The call's deadline covers the whole call, without its waits for
// turns; the attempt's deadline starts when the attempt is sent.
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

// limitCall ends a call at its deadline.
func (d Deadlines) limitCall(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	expired := timeoutError{awsmiddleware.GetOperationName(ctx), d.Call, true}
	timed, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newStopwatch(d.Call, func() { cancel(expired) })
	defer w.pause()
	out, metadata, err := next.HandleInitialize(context.WithValue(timed, stopwatchKey{}, w), in)
	if err == nil || !errors.Is(context.Cause(timed), expired) {
		return out, metadata, err
	}
	err = expired
	if !reads(expired.operation) {
		// The look that decides whether to repeat the change comes when it is no longer under way.
		err = &providers.RetryAfter{Err: expired, In: d.Call}
	}
	return out, metadata, err
}

// limitAttempt ends an attempt of a read at its deadline. It does not send a write if the operator
// may no longer write.
func (d Deadlines) limitAttempt(ctx context.Context, in middleware.FinalizeInput,
	next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	operation := awsmiddleware.GetOperationName(ctx)
	if !reads(operation) {
		if err := providers.MayWrite(ctx); err != nil {
			return middleware.FinalizeOutput{}, middleware.Metadata{},
				fmt.Errorf("calling %s: %w", operation, err)
		}
		return next.HandleFinalize(ctx, in)
	}
	timed, cancel := context.WithTimeout(ctx, d.Attempt)
	defer cancel()
	out, metadata, err := next.HandleFinalize(timed, in)
	if err != nil && ctx.Err() == nil && timed.Err() != nil {
		err = timeoutError{operation, d.Attempt, false}
	}
	return out, metadata, err
}

// A stopwatch measures a call without its waits for turns. One call at a time uses it.
type stopwatch struct {
	timer *time.Timer
	left  time.Duration
	since time.Time
}

type stopwatchKey struct{}

func newStopwatch(d time.Duration, ring func()) *stopwatch {
	return &stopwatch{timer: time.AfterFunc(d, ring), left: d, since: time.Now()}
}

// stopwatchOf returns the stopwatch of a call; nil if it has none.
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
