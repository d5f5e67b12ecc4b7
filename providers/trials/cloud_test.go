package trials_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/trials"
)

// This file is the cloud of the tests, in memory.

// A cloud is the fake cloud under trial. It records its calls by what the run says meanwhile, and
// answers some of them otherwise.
type cloud struct {
	*fake.Cloud
	// before decides about a call before it is made: an error is the answer.
	before func(ctx context.Context, call string) error
	// applied is told of a step before it is applied, and what the run believes to be there then.
	applied func(*lb.Observed)
	// observed changes an observation, listed a list.
	observed func(*lb.Observed)
	listed   func([]lb.Key) []lb.Key
	// sweeps are what sweeps find before those that look at the cloud.
	sweeps []sweep
	unmet  []string

	mu    sync.Mutex // steps are applied several at a time
	calls []string
	said  []string
}

// A sweep is one answer of Sweep.
type sweep struct {
	found []string
	err   error
}

// under returns a cloud, and options of a run in it.
func under(t *testing.T, o fake.Options) (*cloud, trials.Options) {
	t.Helper()
	in, err := fake.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Close)
	c := &cloud{Cloud: in, said: []string{"before"}}
	return c, trials.Options{
		Calls: 1000, CallsMade: func() int { return c.number() }, Timeout: time.Hour, CleanupTimeout: time.Hour,
		Pause: time.Second, SweepPause: time.Minute, OnProgress: c.say,
	}
}

func (c *cloud) say(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, s)
}

// is reports whether a stage is under way.
func (c *cloud) is(stage string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.HasPrefix(c.said[len(c.said)-1], stage+" ")
}

// looked reports whether what is left was looked for.
func (c *cloud) looked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.calls, "deleting: sweep")
}

// number is how many calls were made.
func (c *cloud) number() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

func (c *cloud) call(ctx context.Context, call string) error {
	c.mu.Lock()
	stage, _, _ := strings.Cut(c.said[len(c.said)-1], " ")
	call = stage + ": " + call
	c.calls = append(c.calls, call)
	c.mu.Unlock()
	if c.before != nil {
		return c.before(ctx, call)
	}
	return ctx.Err()
}

func (c *cloud) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	if err := c.call(ctx, "lookup"); err != nil {
		return lb.Facts{}, err
	}
	return lb.Facts{Subnets: []string{"subnet-1", "subnet-2"}, Unmet: c.unmet}, nil
}

func (c *cloud) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	if err := c.call(ctx, "observe "+name(key)); err != nil {
		return nil, err
	}
	seen, err := c.Cloud.Observe(ctx, key, deep)
	if c.observed != nil && err == nil {
		seen = seen.Clone()
		c.observed(seen)
	}
	return seen, err
}

func (c *cloud) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	id, _, _ := strings.Cut(step.ID(), ":") // that of a certificate is random
	if strings.HasSuffix(step.Op(), "rule") {
		id, _, _ = strings.Cut(id, "/") // package planner chooses the priority
	}
	if err := c.call(ctx, name(seen.Key)+" "+step.Op()+" "+id); err != nil {
		return plan.Result{}, err
	}
	if c.applied != nil {
		c.applied(seen)
	}
	return c.Cloud.Apply(ctx, seen, step)
}

func (c *cloud) List(ctx context.Context) ([]lb.Key, error) {
	if err := c.call(ctx, "list"); err != nil {
		return nil, err
	}
	keys, err := c.Cloud.List(ctx)
	if c.listed != nil {
		keys = c.listed(keys)
	}
	return keys, err
}

func (c *cloud) Try(ctx context.Context, key lb.Key) []check.Finding {
	if err := c.call(ctx, "try "+name(key)); err != nil {
		return nil
	}
	return []check.Finding{check.Good("tried", "an assumption", "")}
}

func (c *cloud) Sweep(ctx context.Context) (found []string, err error) {
	if err := c.call(ctx, "sweep"); err != nil {
		return nil, err
	}
	if len(c.sweeps) > 0 {
		s := c.sweeps[0]
		c.sweeps = c.sweeps[1:]
		return s.found, s.err
	}
	keys, err := c.Cloud.List(ctx)
	for _, key := range keys {
		found = append(found, name(key))
		seen, err := c.Cloud.Observe(ctx, key, false)
		if err != nil {
			return found, err
		}
		all := planner.Diff(seen, lb.LoadBalancer{Key: key}, c.Capabilities(lb.Class{}))
		if _, err := providers.Run(ctx, c.Cloud, seen, all, providers.Options{}); err != nil {
			return found, err
		}
	}
	return found, err
}

func (c *cloud) Installations(context.Context) ([]string, error) {
	return nil, errors.New("not asked for")
}

// name is the part of a key that differs.
func name(key lb.Key) string { return strings.Split(string(key), "/")[2] }
