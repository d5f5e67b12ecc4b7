package providers_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// A stopwatch is a cloud whose calls take no time. It notes when each was made.
type stopwatch struct {
	providers.Provider
	start time.Time

	mu    sync.Mutex
	calls map[lb.Key][]time.Duration
}

func newStopwatch() *stopwatch {
	return &stopwatch{start: time.Now(), calls: map[lb.Key][]time.Duration{}}
}

func (s *stopwatch) note(key lb.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[key] = append(s.calls[key], time.Since(s.start))
}

// last is when the last call for a load balancer was made, of as many as there have to be.
func (s *stopwatch) last(t *testing.T, key lb.Key, count int) time.Duration {
	t.Helper()
	if len(s.calls[key]) != count {
		t.Fatalf("%d calls for %q, want %d", len(s.calls[key]), key, count)
	}
	return s.calls[key][count-1]
}

func (s *stopwatch) Apply(_ context.Context, seen *lb.Observed, _ plan.Step) (plan.Result, error) {
	s.note(seen.Key)
	return plan.Result{}, nil
}

func (s *stopwatch) Observe(_ context.Context, key lb.Key, _ bool) (*lb.Observed, error) {
	s.note(key)
	return &lb.Observed{Key: key}, nil
}

func (s *stopwatch) Targets(_ context.Context, key lb.Key, _ lb.GroupID) ([]lb.TargetHealth, error) {
	s.note(key)
	return nil, nil
}

func (s *stopwatch) SetTargets(_ context.Context, key lb.Key, _ lb.GroupID, _ []lb.Target) error {
	s.note(key)
	return nil
}

func (s *stopwatch) Active(_ context.Context, seen *lb.Observed) (bool, error) {
	s.note(seen.Key)
	return true, nil
}

func (s *stopwatch) Lookup(context.Context, lb.Questions) (lb.Facts, error) {
	s.note("")
	return lb.Facts{}, nil
}

func (s *stopwatch) List(context.Context) ([]lb.Key, error) {
	s.note("")
	return nil, nil
}

// independent is a plan of so many steps, of which each may run beside the others.
func independent(count int) plan.Plan {
	var p plan.Plan
	for i := range count {
		p.Steps = append(p.Steps, plan.Planned{Step: plan.DeleteTargetGroup{Group: lb.GroupID(fmt.Sprint(i))}})
	}
	return p
}

// chained is a plan of so many steps, one after the other.
func chained(count int) plan.Plan {
	p := independent(count)
	for i := 1; i < count; i++ {
		p.Steps[i].After = []int{i - 1}
	}
	return p
}

// TestALongPlanStarvesNobody runs a plan of 500 steps, and a moment later ten of five.
func TestALongPlanStarvesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watch := newStopwatch()
		cloud := providers.LimitRate(watch, 10, 1)
		var all sync.WaitGroup
		run := func(key lb.Key, p plan.Plan) {
			all.Go(func() {
				if _, err := providers.Run(t.Context(), cloud, &lb.Observed{Key: key}, p, providers.Options{Parallel: 100}); err != nil {
					t.Error(err)
				}
			})
		}
		run("long", independent(500))
		time.Sleep(time.Second) // by now a hundred of its steps wait
		for i := range 10 {
			run(lb.Key(fmt.Sprint("short", i)), chained(5))
		}
		all.Wait()
		// Five rounds of eleven turns, ten turns a second.
		const soon = time.Second + 5*1100*time.Millisecond
		for i := range 10 {
			if at := watch.last(t, lb.Key(fmt.Sprint("short", i)), 5); at > soon {
				t.Errorf("short plan %d ends after %s, want %s", i, at, soon)
			}
		}
		// 550 turns, of which the first needs no waiting: none is wasted.
		if at, want := watch.last(t, "long", 500), 549*100*time.Millisecond; at != want {
			t.Errorf("the long plan ends after %s, want %s", at, want)
		}
	})
}

func TestTurnsAreSavedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watch := newStopwatch()
		cloud := providers.LimitRate(watch, 10, 3)
		time.Sleep(time.Minute)
		watch.start = time.Now()
		for range 5 {
			if _, err := cloud.Observe(t.Context(), "a", false); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []time.Duration{0, 0, 0, 100 * time.Millisecond, 200 * time.Millisecond} {
			if got := watch.calls["a"][i]; got != want {
				t.Errorf("call %d is made after %s, want %s", i, got, want)
			}
		}
	})
}

// TestEveryCallTakesATurn makes each call of the interface once, and those of two load balancers in
// turns. A change of targets is urgent.
func TestEveryCallTakesATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watch := newStopwatch()
		cloud := providers.LimitRate(watch, 1, 1)
		var all sync.WaitGroup
		var order []string
		var mu sync.Mutex
		for _, c := range []struct {
			name string
			call func() error
		}{
			{"a first", func() error { _, err := cloud.Observe(t.Context(), "a", false); return err }},
			{"a second", func() error { _, err := cloud.Apply(t.Context(), &lb.Observed{Key: "a"}, nil); return err }},
			{"a third", func() error { _, err := cloud.Targets(t.Context(), "a", "g"); return err }},
			{"b first", func() error { return cloud.SetTargets(t.Context(), "b", "g", nil) }},
			{"lookup", func() error { _, err := cloud.Lookup(t.Context(), lb.Questions{}); return err }},
			{"active", func() error { _, err := cloud.Active(t.Context(), &lb.Observed{Key: "c"}); return err }},
			{"list", func() error { _, err := cloud.List(t.Context()); return err }},
		} {
			all.Go(func() {
				err := c.call()
				mu.Lock()
				defer mu.Unlock()
				order = append(order, fmt.Sprint(c.name, " ", time.Since(watch.start), " ", err))
			})
			synctest.Wait() // it waits, or is done
		}
		all.Wait()
		want := []string{
			"a first 0s <nil>", "b first 1s <nil>", "a second 2s <nil>", "lookup 3s <nil>", "active 4s <nil>", "list 5s <nil>", "a third 6s <nil>",
		}
		for i := range want {
			if order[i] != want[i] {
				t.Errorf("turn %d: %s, want %s", i, order[i], want[i])
			}
		}
	})
}

func TestWhoLeavesGivesItsTurnUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watch := newStopwatch()
		cloud := providers.LimitRate(watch, 1, 1)
		observe := func(ctx context.Context, key lb.Key) <-chan error {
			done := make(chan error, 1)
			go func() { _, err := cloud.Observe(ctx, key, false); done <- err }()
			synctest.Wait()
			return done
		}
		first := observe(t.Context(), "a")
		gone, leave := context.WithCancelCause(t.Context())
		second, third, fourth := observe(gone, "b"), observe(t.Context(), "c"), observe(t.Context(), "b")
		shutdown := errors.New("the operator stops")
		leave(shutdown)
		if err := <-second; !errors.Is(err, shutdown) {
			t.Errorf("who leaves is told %v", err)
		}
		for _, done := range []<-chan error{first, third, fourth} {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if at := watch.last(t, "b", 1); at != time.Second {
			t.Errorf("the other call of its line is made after %s: it keeps the place of the line", at)
		}
		if at := watch.last(t, "c", 1); at != 2*time.Second {
			t.Errorf("the last call is made after %s, want 2s", at)
		}
	})
}

// A call whose context ends while it waits is not made, whichever it is, and the lines of those who
// left are gone.
func TestACallThatLeavesIsNotMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watch := newStopwatch()
		cloud := providers.LimitRate(watch, 1, 1)
		if _, err := cloud.Observe(t.Context(), "first", false); err != nil {
			t.Fatal(err)
		}
		gone, leave := context.WithCancel(t.Context())
		seen := &lb.Observed{Key: "apply"}
		calls := map[string]func(context.Context) error{
			"lookup":      func(ctx context.Context) error { _, err := cloud.Lookup(ctx, lb.Questions{}); return err },
			"observe":     func(ctx context.Context) error { _, err := cloud.Observe(ctx, "observe", false); return err },
			"apply":       func(ctx context.Context) error { _, err := cloud.Apply(ctx, seen, nil); return err },
			"targets":     func(ctx context.Context) error { _, err := cloud.Targets(ctx, "targets", "g"); return err },
			"set targets": func(ctx context.Context) error { return cloud.SetTargets(ctx, "set", "g", nil) },
			"list":        func(ctx context.Context) error { _, err := cloud.List(ctx); return err },
			"active": func(ctx context.Context) error {
				active, err := cloud.Active(ctx, &lb.Observed{Key: "active"})
				if active {
					t.Error("a load balancer is active that was not asked for")
				}
				return err
			},
		}
		var all sync.WaitGroup
		for name, call := range calls {
			all.Go(func() {
				if err := call(gone); !errors.Is(err, context.Canceled) {
					t.Errorf("%s ends with %v", name, err)
				}
			})
		}
		synctest.Wait()
		leave()
		all.Wait()
		if _, err := cloud.Observe(t.Context(), "last", false); err != nil {
			t.Fatal(err)
		}
		if at := watch.last(t, "last", 1); at != time.Second || len(watch.calls) != 2 {
			t.Errorf("the next call is made after %s, of %v", at, watch.calls)
		}
	})
}

// A call that has its turn is made, although its context ended at the same moment: the turn is
// spent.
func TestACallThatHasItsTurnIsMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watch := newStopwatch()
		cloud := providers.LimitRate(watch, 1, 100)
		ended, end := context.WithCancel(t.Context())
		end()
		for range 50 { // which of the two is noticed first is chance
			if _, err := cloud.Observe(ended, "a", false); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestNoRateIsNoLimit(t *testing.T) {
	watch := newStopwatch()
	if cloud := providers.LimitRate(watch, 0, 0); cloud != providers.Provider(watch) {
		t.Error("it waits for something")
	}
}
