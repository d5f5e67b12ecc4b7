package providers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file keeps the calls of all load balancers to one rate, and shares it out.

// InTurns is a provider with at most so many calls a second, and burst at once where there were fewer
// before. Load balancers that wait take turns, a call each, so that a plan of hundreds of steps holds
// nobody up who needs a few. A rate of zero is no limit.
func InTurns(cloud Provider, rate float64, burst int) Provider {
	if rate <= 0 {
		return cloud
	}
	return &inTurns{Provider: cloud, turns: turns{every: time.Duration(float64(time.Second) / rate), burst: max(burst, 1)}}
}

// Capabilities makes no calls and waits for nothing.
type inTurns struct {
	Provider
	turns turns
}

func (c *inTurns) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	if err := c.turns.wait(ctx, ""); err != nil {
		return lb.Facts{}, err
	}
	return c.Provider.Lookup(ctx, q)
}

func (c *inTurns) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	if err := c.turns.wait(ctx, key); err != nil {
		return nil, err
	}
	return c.Provider.Observe(ctx, key, deep)
}

func (c *inTurns) Active(ctx context.Context, seen *lb.Observed) (bool, error) {
	if err := c.turns.wait(ctx, seen.Key); err != nil {
		return false, err
	}
	return c.Provider.Active(ctx, seen)
}

func (c *inTurns) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if err := c.turns.wait(ctx, seen.Key); err != nil {
		return plan.Result{}, err
	}
	return c.Provider.Apply(ctx, seen, step)
}

func (c *inTurns) Targets(ctx context.Context, key lb.Key, group lb.GroupID) ([]lb.TargetHealth, error) {
	if err := c.turns.wait(ctx, key); err != nil {
		return nil, err
	}
	return c.Provider.Targets(ctx, key, group)
}

func (c *inTurns) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	if err := c.turns.wait(ctx, key); err != nil {
		return err
	}
	return c.Provider.SetTargets(ctx, key, group, want)
}

func (c *inTurns) List(ctx context.Context) ([]lb.Key, error) {
	if err := c.turns.wait(ctx, ""); err != nil {
		return nil, err
	}
	return c.Provider.List(ctx)
}

// Turns are given out at a steady pace. While nobody wants them up to burst of them are saved up.
type turns struct {
	every time.Duration
	burst int

	mu     sync.Mutex
	spent  time.Time // the instant for which the last turn was given
	lines  []*line   // of those who wait; the first one's turn is next
	waking bool      // a timer will give out the next turn
}

// A line is the calls of one load balancer that wait, in their order. A call that is for none is a
// line of its own.
type line struct {
	key   lb.Key
	calls []chan struct{} // closed when it is their turn
}

// wait returns when it is a load balancer's turn.
func (t *turns) wait(ctx context.Context, key lb.Key) error {
	turn := t.queue(key)
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	if !t.leave(turn) {
		return nil // it had its turn at the same moment
	}
	return fmt.Errorf("waiting for a turn to call the cloud: %w", context.Cause(ctx))
}

// queue puts a call at the end of its line, and a new line behind the others.
func (t *turns) queue(key lb.Key) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := make(chan struct{})
	at := slices.IndexFunc(t.lines, func(l *line) bool { return key != "" && l.key == key })
	if at < 0 {
		at = len(t.lines)
		t.lines = append(t.lines, &line{key: key})
	}
	t.lines[at].calls = append(t.lines[at].calls, turn)
	t.give()
	return turn
}

// leave takes a call out of its line. It returns false if it is not there any more.
func (t *turns) leave(turn chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, l := range t.lines {
		if at := slices.Index(l.calls, turn); at >= 0 {
			if l.calls = slices.Delete(l.calls, at, at+1); len(l.calls) == 0 {
				t.lines = slices.Delete(t.lines, i, i+1)
			}
			return true
		}
	}
	return false
}

// give gives out the turns that are due, and sees to it that the next one will be.
func (t *turns) give() {
	now := time.Now()
	if saved := now.Add(-time.Duration(t.burst) * t.every); t.spent.Before(saved) {
		t.spent = saved
	}
	for len(t.lines) > 0 && !t.spent.Add(t.every).After(now) {
		t.spent = t.spent.Add(t.every)
		t.next()
	}
	if len(t.lines) == 0 || t.waking {
		return
	}
	t.waking = true
	time.AfterFunc(t.spent.Add(t.every).Sub(now), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.waking = false
		t.give()
	})
}

// next lets the first call of the first line go, and the line to the end of all lines.
func (t *turns) next() {
	first := t.lines[0]
	t.lines = t.lines[1:]
	close(first.calls[0])
	if first.calls = first.calls[1:]; len(first.calls) > 0 {
		t.lines = append(t.lines, first)
	}
}
