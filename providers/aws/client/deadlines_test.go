package client

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// This file tests when a call ends that AWS does not answer.

var deadlines = Deadlines{Attempt: 15 * time.Second, Call: time.Minute}

// called makes a call that reads, with a deadline.
func calledToRead(ctx context.Context, answer func(context.Context) error) error {
	return calledAs(ctx, "DescribeSubnets", answer)
}

// calledAs makes a call of an operation with a deadline.
func calledAs(ctx context.Context, operation string, answer func(context.Context) error) error {
	named := awsmiddleware.RegisterServiceMetadata{ServiceID: "EC2", OperationName: operation}
	_, _, err := named.HandleInitialize(ctx, middleware.InitializeInput{}, middleware.InitializeHandlerFunc(
		func(ctx context.Context, in middleware.InitializeInput) (middleware.InitializeOutput, middleware.Metadata, error) {
			return deadlines.limitCall(ctx, in, middleware.InitializeHandlerFunc(
				func(ctx context.Context, _ middleware.InitializeInput) (out middleware.InitializeOutput, m middleware.Metadata, err error) {
					return out, m, answer(ctx)
				}))
		}))
	return err
}

// attempted makes an attempt with a deadline.
func attempted(ctx context.Context, answer func(context.Context) error) error {
	_, _, err := deadlines.limitAttempt(ctx, middleware.FinalizeInput{}, middleware.FinalizeHandlerFunc(
		func(ctx context.Context, _ middleware.FinalizeInput) (out middleware.FinalizeOutput, m middleware.Metadata, err error) {
			return out, m, answer(ctx)
		}))
	return err
}

func TestDeadlinesThatAreNotSet(t *testing.T) {
	set := Deadlines{Attempt: 1, Call: 2}
	for d, want := range map[Deadlines]Deadlines{
		{}:                      deadlines,
		{Attempt: -1, Call: -1}: deadlines,
		set:                     set,
		{Attempt: set.Attempt}:  {set.Attempt, deadlines.Call},
		{Call: set.Call}:        {deadlines.Attempt, set.Call},
	} {
		if got := d.WithDefaults(); got != want {
			t.Errorf("%+v are %+v, want %+v", d, got, want)
		}
	}
}

// A call ends at its deadline, and an attempt at its own. Only the attempt is made again. One that
// ends for another reason keeps its error.
func TestWhatIsNotAnsweredEnds(t *testing.T) {
	silent := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	reset := errors.New("connection reset")
	for name, c := range map[string]struct {
		do    func(context.Context, func(context.Context) error) error
		takes time.Duration
		final bool
	}{
		"a call": {calledToRead, deadlines.Call, true},
		"an attempt": {func(ctx context.Context, answer func(context.Context) error) error {
			return attempted(awsmiddleware.SetOperationName(ctx, "DescribeSubnets"), answer)
		}, deadlines.Attempt, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := c.do(t.Context(), silent)
				e, late := errors.AsType[timeoutError](err)
				if took := time.Since(began); took != c.takes || !late || !IsTimeout(err) || e.RetryableError() == c.final || e.within != c.takes {
					t.Errorf("after %s it ends with %v", took, err)
				}
				if err := c.do(t.Context(), func(context.Context) error { return reset }); !errors.Is(err, reset) || IsTimeout(err) {
					t.Errorf("a call that is cut off ends with %v", err)
				}
				if err := c.do(t.Context(), func(context.Context) error { time.Sleep(2 * c.takes); return nil }); err != nil {
					t.Errorf("an answer that comes late is %v", err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), c.takes/2)
				defer cancel()
				if err := c.do(ctx, silent); IsTimeout(err) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a caller that ends before the deadline gets %v", err)
				}
			})
		})
	}
}

// An attempt of a change has the time of its call, and is not made again: it may still be carried
// out. The caller is asked to look when that is over.
func TestAChangeIsNotAttemptedAgainWhileItMayBeUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := calledAs(t.Context(), "CreateRule", func(ctx context.Context) error {
			return attempted(ctx, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		})
		e, late := errors.AsType[timeoutError](err)
		if took := time.Since(began); took != deadlines.Call || !late || !IsTimeout(err) || e.RetryableError() {
			t.Errorf("after %s it ends with %v", took, err)
		}
		if again, ok := errors.AsType[*providers.RetryAfter](err); !ok || again.In != deadlines.Call {
			t.Errorf("it ends with %v, which does not ask for a look after %s", err, deadlines.Call)
		}
		if again, ok := errors.AsType[*providers.RetryAfter](calledToRead(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})); ok {
			t.Errorf("a read is to be repeated after %s, though it can be at once", again.In)
		}
	})
}

// The wait for a turn is no part of the deadline of a call, and the time before it is.
func TestADeadlineStandsStillDuringAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := calledToRead(t.Context(), func(ctx context.Context) error {
			w := stopwatchOf(ctx)
			for range 2 {
				time.Sleep(20 * time.Second)
				w.pause()
				time.Sleep(time.Hour)
				w.resume()
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if took := time.Since(began); took != 2*time.Hour+deadlines.Call || !IsTimeout(err) {
			t.Errorf("after %s it ends with %v", took, err)
		}
		var none *stopwatch // of a call without a deadline
		none.pause()
		none.resume()
	})
}

// A changer is a cloud that makes a call for each change.
type changer struct {
	providers.Provider
	call func(context.Context) error
}

func (c changer) Apply(ctx context.Context, _ *lb.Observed, _ plan.Step) (plan.Result, error) {
	return plan.Result{}, c.call(ctx)
}

// An operator that may not change anything any more makes no attempt of a call that changes
// something. Calls that read are made.
func TestAnOperatorWithoutItsLeaseOnlyReads(t *testing.T) {
	lost := errors.New("the lease is lost")
	for operation, want := range map[string]error{
		"CreateRule": lost, "DeregisterTargets": lost, "AuthorizeSecurityGroupIngress": lost,
		"DescribeRules": nil, "GetWebACL": nil, "ListCertificates": nil,
	} {
		var may error // as long as the change begins
		made := false
		revocable := providers.NewRevocable(changer{call: func(ctx context.Context) error {
			may = lost
			return attempted(awsmiddleware.SetOperationName(ctx, operation), func(context.Context) error { made = true; return nil })
		}}, func() error { return may })
		_, err := revocable.Apply(t.Context(), &lb.Observed{}, plan.CreateTargetGroup{})
		if !errors.Is(err, want) || made != (want == nil) {
			t.Errorf("%s is made: %v, %v; want the error %v", operation, made, err, want)
		}
	}
}

// The deadline of a call is around all of it. That of an attempt begins when it has its turn.
func TestWhereTheDeadlinesAre(t *testing.T) {
	stack := middleware.NewStack("test", func() any { return nil })
	if err := deadlines.AddTo(stack); err == nil {
		t.Error("without a pacer there is no error")
	}
	stack = middleware.NewStack("test", func() any { return nil })
	retries := middleware.FinalizeMiddlewareFunc("Retry", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		return next.HandleFinalize(ctx, in)
	})
	if err := errors.Join(stack.Finalize.Add(retries, middleware.After), NewPacer(PacerOptions{Deadlines: deadlines}).AddTo(stack), deadlines.AddTo(stack)); err != nil { //nolint:misspell // the SDK names it so
		t.Fatal(err)
	}
	if got := stack.Finalize.List(); !slices.Equal(got, []string{"Retry", "Pace", "AttemptDeadline"}) { //nolint:misspell // the SDK names it so
		t.Errorf("an attempt goes through %q", got)
	}
	if got := stack.Initialize.List(); !slices.Equal(got, []string{"CallDeadline"}) { //nolint:misspell // the SDK names it so
		t.Errorf("a call goes through %q", got)
	}
}
