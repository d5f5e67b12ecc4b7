package providers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file keeps the calls of all load balancers to one rate, and shares it out.

// InTurns is a provider with at most so many calls a second, and burst at once where there were
// fewer before. Load balancers that wait take turns, a call each, so that a plan of hundreds of
// steps does not hold up one of a few, and urgent steps go before others. A rate of zero is no
// limit.
func InTurns(cloud Provider, rate float64, burst int) Provider {
	if rate <= 0 {
		return cloud
	}
	return &inTurns{cloud, NewTurns(rate, burst)}
}

// Capabilities makes no calls and waits for nothing.
type inTurns struct {
	Provider
	turns *Turns
}

func (c *inTurns) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	if err := c.wait(About(ctx, "")); err != nil {
		return lb.Facts{}, err
	}
	return c.Provider.Lookup(ctx, q)
}

func (c *inTurns) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	if err := c.wait(About(ctx, key)); err != nil {
		return nil, err
	}
	return c.Provider.Observe(ctx, key, deep)
}

func (c *inTurns) Active(ctx context.Context, seen *lb.Observed) (bool, error) {
	if err := c.wait(About(ctx, seen.Key)); err != nil {
		return false, err
	}
	return c.Provider.Active(ctx, seen)
}

func (c *inTurns) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if err := c.wait(About(ctx, seen.Key)); err != nil {
		return plan.Result{}, err
	}
	return c.Provider.Apply(ctx, seen, step)
}

func (c *inTurns) Targets(ctx context.Context, key lb.Key, group lb.GroupID) ([]lb.TargetHealth, error) {
	if err := c.wait(About(ctx, key)); err != nil {
		return nil, err
	}
	return c.Provider.Targets(ctx, key, group)
}

func (c *inTurns) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	if err := c.wait(Urgently(About(ctx, key), true)); err != nil {
		return err
	}
	return c.Provider.SetTargets(ctx, key, group, want)
}

func (c *inTurns) List(ctx context.Context) ([]lb.Key, error) {
	if err := c.wait(About(ctx, "")); err != nil {
		return nil, err
	}
	return c.Provider.List(ctx)
}

func (c *inTurns) wait(ctx context.Context) error {
	if err := c.turns.Wait(ctx); err != nil {
		return fmt.Errorf("waiting for a turn to call the cloud: %w", err)
	}
	return nil
}

// Turns are given out at a steady pace, as a queue says. While there are no calls up to burst of
// them are saved up.
type Turns struct {
	burst int

	mu     sync.Mutex
	every  time.Duration
	spent  time.Time // the instant for which the last turn was given
	queue  queue[chan struct{}]
	waking *time.Timer // gives out the next turn; nil where no call waits
}

// NewTurns gives out so many turns a second, and burst at once where there were fewer before.
func NewTurns(perSecond float64, burst int) *Turns {
	return &Turns{every: interval(perSecond), burst: max(burst, 1)}
}

func interval(perSecond float64) time.Duration {
	return time.Duration(float64(time.Second) / perSecond)
}

// SetRate gives out so many turns a second from now on.
func (t *Turns) SetRate(perSecond float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if every := interval(perSecond); every != t.every {
		t.every = every
		t.give()
	}
}

// Wait returns when it is the turn of the call that is made with a context.
func (t *Turns) Wait(ctx context.Context) error {
	asker := AskerOf(ctx)
	turn := make(chan struct{})
	t.mu.Lock()
	t.queue.push(asker.Key, asker.Urgent, turn)
	t.give()
	t.mu.Unlock()
	select {
	case <-turn:
		return nil
	default:
	}
	defer asker.waits()()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.queue.remove(turn) {
		return nil // it had its turn at the same moment
	}
	return context.Cause(ctx)
}

// give gives out the turns that are due, and sees to it that the next one will be. The lock is
// held.
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
