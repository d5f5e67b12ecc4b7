package providers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// This file limits the rate of the calls of all load balancers, and shares it.

// LimitRate limits the calls of a provider to a rate per second, with a burst after fewer calls.
// Load balancers whose calls wait take turns, one call each, so that a plan of hundreds of steps
// does not delay a short one. Urgent steps go first. A rate of zero is no limit.
func LimitRate(cloud Provider, rate float64, burst int) Provider {
	if rate <= 0 {
		return cloud
	}
	return Intercept(cloud, NewTurns(rate, burst).intercept)
}

// intercept waits for the turn of a call. A change of targets is urgent.
func (t *Turns) intercept(ctx context.Context, call Call, next Next) error {
	turn := WithKey(ctx, call.Key)
	if call.Method == "SetTargets" {
		turn = WithUrgency(turn, true)
	}
	if err := t.Wait(turn); err != nil {
		return fmt.Errorf("waiting for a turn to call the cloud: %w", err)
	}
	return next(ctx)
}

// Turns permits calls at a steady rate, in the order of a queue. It saves up to burst turns while
// there are no calls.
type Turns struct {
	burst int

	mu     sync.Mutex
	every  time.Duration
	spent  time.Time // the instant for which the last turn was given
	queue  queue[chan struct{}]
	waking *time.Timer // gives the next turn; nil if no call waits
}

// NewTurns returns Turns for a number of calls a second, and a burst after fewer calls.
func NewTurns(perSecond float64, burst int) *Turns {
	return &Turns{every: interval(perSecond), burst: max(burst, 1)}
}

func interval(perSecond float64) time.Duration {
	return time.Duration(float64(time.Second) / perSecond)
}

// SetRate changes the number of turns a second.
func (t *Turns) SetRate(perSecond float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if every := interval(perSecond); every != t.every {
		t.every = every
		t.give()
	}
}

// Wait waits for the turn of the call of a context.
func (t *Turns) Wait(ctx context.Context) error {
	asker := AskerOf(ctx)
	turn := make(chan struct{})
	t.mu.Lock()
	t.queue.push(asker.Key, asker.Urgent, turn)
	t.give()
	t.mu.Unlock()
	return await(ctx, turn, func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.queue.remove(turn)
	})
}

// errUnsent is the error of a call that was not sent before its plan ended.
var errUnsent = errors.New("it was not sent")

// await waits for a turn, until the context of the call ends or that of its plan. Remove removes
// the call from the queue; it returns false if the call had its turn at the same moment.
func await(ctx context.Context, turn <-chan struct{}, remove func() bool) error {
	select {
	case <-turn:
		return nil
	default:
	}
	defer AskerOf(ctx).waits()()
	ended := PlanOf(ctx)
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		ended = ctx
	case <-ended.Done():
	}
	if !remove() {
		return nil
	}
	return fmt.Errorf("%w: %w", errUnsent, context.Cause(ended))
}

// give gives the turns that are due, and sets the timer for the next one. The caller holds the
// lock.
func (t *Turns) give() {
	now := time.Now()
	if saved := now.Add(-time.Duration(t.burst) * t.every); t.spent.Before(saved) {
		t.spent = saved
	}
	for !t.queue.empty() && !t.spent.Add(t.every).After(now) {
		t.spent = t.spent.Add(t.every)
		close(t.queue.pop())
	}
	if t.waking != nil {
		t.waking.Stop()
		t.waking = nil
	}
	if !t.queue.empty() {
		t.waking = time.AfterFunc(t.spent.Add(t.every).Sub(now), func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.give()
		})
	}
}
