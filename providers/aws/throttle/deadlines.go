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

// Usual are the deadlines where none are set.
func (d Deadlines) Usual() Deadlines {
	if d.Attempt <= 0 {
		d.Attempt = 15 * time.Second
	}
	if d.Call <= 0 {
		d.Call = time.Minute
	}
	return d
}

// An unanswered is the error of a call that AWS did not answer in time. It may have been carried
// out.
type unanswered struct {
	operation string
	within    time.Duration
	final     bool // no time is left for another attempt
}

func (e unanswered) Error() string {
	return fmt.Sprintf("%s was not answered within %s", e.operation, e.within)
}

// RetryableError has the SDK make another attempt.
func (e unanswered) RetryableError() bool { return !e.final }

// Late reports whether an error is that of a call that AWS did not answer in time.
func Late(err error) bool {
	_, is := errors.AsType[unanswered](err)
	return is
}

// Into puts the deadline of a call around all of it, and that of an attempt behind the wait for its
// turn.
func (d Deadlines) Into(stack *middleware.Stack) error {
	//nolint:misspell // the SDK names it so
	if err := stack.Initialize.Add(middleware.InitializeMiddlewareFunc("CallDeadline", d.call),
		middleware.Before); err != nil {
		return err
	}
	//nolint:misspell // the SDK names it so
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("AttemptDeadline", d.attempt),
		"Pace", middleware.After)
}

// call ends a call that takes too long.
func (d Deadlines) call(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	late := unanswered{awsmiddleware.GetOperationName(ctx), d.Call, true}
	timed, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newWatch(d.Call, func() { cancel(late) })
	defer w.stop()
	out, metadata, err := next.HandleInitialize(context.WithValue(timed, watchKey{}, w), in)
	if err != nil && errors.Is(context.Cause(timed), late) {
		err = late
	}
	return out, metadata, err
}

// attempt ends an attempt that takes too long, and does not begin one that changes something for an
// operator that may not change anything any more.
func (d Deadlines) attempt(ctx context.Context, in middleware.FinalizeInput,
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
		err = unanswered{operation, d.Attempt, false}
	}
	return out, metadata, err
}

// A watch runs while a call does, and stands still while the call waits for its turn. One call at a
// time uses it.
type watch struct {
	timer *time.Timer
	left  time.Duration
	since time.Time
}

type watchKey struct{}

func newWatch(d time.Duration, ring func()) *watch {
	return &watch{timer: time.AfterFunc(d, ring), left: d, since: time.Now()}
}

// watchOf is the watch of a call; nil if it has none.
func watchOf(ctx context.Context) *watch {
	w, _ := ctx.Value(watchKey{}).(*watch)
	return w
}

func (w *watch) stop() {
	if w != nil && w.timer.Stop() {
		w.left -= time.Since(w.since)
	}
}

func (w *watch) goOn() {
	if w != nil {
		w.since = time.Now()
		w.timer.Reset(max(w.left, 0))
	}
}
