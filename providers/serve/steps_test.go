package serve_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/serve"
	"fairlead.dev/fairlead/providers/wire"
)

// This file tests how steps are carried out: once each, whatever becomes of their clients.

func TestAStepIsCarriedOutOnce(t *testing.T) {
	c := newCloud(t)
	s := serving(t, c, serve.Options{})
	first := done(t, s, "a", create())
	if again := done(t, s, "a", create()); again.Handle != first.Handle || first.Handle == "" || c.applies.Load() != 1 {
		t.Errorf("first %+v, then %+v, after %d calls", first, again, c.applies.Load())
	}
	if other := done(t, s, "b", create()); other.Handle != first.Handle || c.applies.Load() != 2 {
		t.Errorf("under another ID %+v, after %d calls", other, c.applies.Load())
	}
	if p := apply(t, s, "a", group("g")).Problem; p == nil || p.Type != v1.ProblemMalformed || !strings.Contains(p.Detail, `"a"`) {
		t.Errorf("the ID of another step: %+v", p)
	}
	elsewhere := read[v1.Applied](t, ask(t, s, stepsOf("another"), step("a", group("g"))))
	if elsewhere.Results[0].Problem != nil || c.applies.Load() != 3 {
		t.Errorf("the ID of a step of another load balancer: %+v", elsewhere.Results[0].Problem)
	}
}

func TestStepsOfOneRequest(t *testing.T) {
	c := newCloud(t)
	var mu sync.Mutex
	underWay, most := 0, 0
	c.beforeApply = func(_ context.Context, _ *lb.Observed, s plan.Step) error {
		mu.Lock()
		underWay++
		most = max(most, underWay)
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		underWay--
		if s.ID() == "group/g7" || strings.Contains(s.ID(), "g7") {
			return fmt.Errorf("%w: g7 is not liked", providers.ErrRejected)
		}
		return nil
	}
	s := serving(t, c, serve.Options{})
	done(t, s, "lb", create())
	var asked v1.Apply
	for i := range 20 {
		asked.Steps = append(asked.Steps, v1.Requested{ID: fmt.Sprint(i), Step: wire.EncodeStep(group(lb.GroupID(fmt.Sprintf("g%d", i))))})
	}
	got := read[v1.Applied](t, ask(t, s, stepsOf(shop), asked))
	for i, r := range got.Results {
		if r.ID != asked.Steps[i].ID || (r.Problem != nil) != (i == 7) || (r.Handle == "") != (i == 7) {
			t.Errorf("result %d: %+v", i, r)
		}
	}
	if p := got.Results[7].Problem; p != nil && (p.Type != v1.ProblemRejected || !strings.Contains(p.Detail, "g7 is not liked")) {
		t.Errorf("the one that is rejected: %+v", p)
	}
	if c.applies.Load() != 21 || most > 4 || most < 2 {
		t.Errorf("%d steps, %d at once", c.applies.Load(), most)
	}
	asked.Steps = []v1.Requested{asked.Steps[3], asked.Steps[3]}
	if twice := ask(t, s, stepsOf(shop), asked); twice.problem.Type != v1.ProblemMalformed {
		t.Errorf("twice in a request: %d %s", twice.status, twice.body)
	}
}

func TestASecondDeliveryWaitsForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		c.beforeApply = func(context.Context, *lb.Observed, plan.Step) error {
			time.Sleep(2 * time.Second)
			return nil
		}
		s := serving(t, c, serve.Options{})
		begun := time.Now()
		var all sync.WaitGroup
		handles := make([]string, 5)
		for i := range handles {
			all.Go(func() { handles[i] = apply(t, s, "a", create()).Handle })
		}
		all.Wait()
		for _, h := range handles {
			if h == "" || h != handles[0] {
				t.Errorf("handles %q", handles)
			}
		}
		if took := time.Since(begun); c.applies.Load() != 1 || took != 2*time.Second {
			t.Errorf("%d calls in %s", c.applies.Load(), took)
		}
	})
}

func TestResultsAreKeptForTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		c.beforeApply = func(context.Context, *lb.Observed, plan.Step) error { return errors.New("the cloud is ill") }
		s := serving(t, c, serve.Options{})
		first := apply(t, s, "a", create())
		if first.Problem == nil || first.Problem.Type != v1.ProblemOther || first.Problem.Detail != "the cloud is ill" {
			t.Fatalf("%+v", first.Problem)
		}
		c.beforeApply = nil
		time.Sleep(10 * time.Minute)
		if again := apply(t, s, "a", create()); again.Problem == nil || c.applies.Load() != 1 {
			t.Errorf("after 10 minutes: %+v", again)
		}
		if other := apply(t, s, "b", create()); other.Problem != nil {
			t.Errorf("under another ID: %+v", other.Problem)
		}
		time.Sleep(time.Minute)
		if later := apply(t, s, "a", create()); later.Problem != nil || c.applies.Load() != 3 {
			t.Errorf("after 11 minutes: %+v", later.Problem)
		}
	})
}

func TestAStepOfAClientThatWentAwayIsFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		c.afterApply = func(ctx context.Context, _ *lb.Observed, _ plan.Step) error {
			time.Sleep(3 * time.Second)
			return ctx.Err()
		}
		s := serving(t, c, serve.Options{})
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		askUntil(ctx, t, s, stepsOf(shop), step("a", create()))
		begun := time.Now()
		seen := read[v1.Observed](t, ask(t, s, observe(shop), nil))
		if took := time.Since(begun); !seen.Exists || took != 2*time.Second {
			t.Errorf("what is observed after %s: %+v", took, seen)
		}
		if again := done(t, s, "a", create()); again.Handle != seen.Handle || c.applies.Load() != 1 {
			t.Errorf("%+v after %d calls", again, c.applies.Load())
		}
	})
}

// TestNothingIsBegunLate has a step wait for an observation for longer than its client waits.
func TestNothingIsBegunLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		c.beforeObserve = func(context.Context) error {
			time.Sleep(time.Second)
			return nil
		}
		s := serving(t, c, serve.Options{})
		ctx, leave := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer leave()
		askUntil(ctx, t, s, stepsOf(shop), step("a", create()), "Fairlead-Timeout: 500")
		time.Sleep(time.Minute)
		if c.applies.Load() != 0 {
			t.Error("the step was begun")
		}
		shown(t, c)
		if r := apply(t, s, "a", create(), "Fairlead-Timeout: 5000"); r.Problem != nil || c.applies.Load() != 1 {
			t.Errorf("delivered again: %+v", r.Problem)
		}

		done(t, s, "g", group("g"))
		c.beforeSet = func(context.Context, []lb.Target) error {
			time.Sleep(time.Second)
			return nil
		}
		put := func(port int32) v1.TargetList {
			return wire.EncodeTargets([]lb.Target{{Address: "10.0.0.1", Port: port}})
		}
		var all sync.WaitGroup
		all.Go(func() { ask(t, s, targets("PUT", "g"), put(1)) })
		synctest.Wait()
		ctx, leave = context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer leave()
		askUntil(ctx, t, s, targets("PUT", "g"), put(2), "Fairlead-Timeout: 500")
		all.Wait()
		time.Sleep(time.Minute)
		got := read[v1.TargetList](t, ask(t, s, targets("GET", "g"), nil))
		if len(got.Targets) != 1 || got.Targets[0].Port != 1 {
			t.Errorf("members: %+v", got.Targets)
		}
	})
}

func TestMembersAreChangedOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		s := serving(t, c, serve.Options{})
		done(t, s, "lb", create())
		done(t, s, "g", group("g"))
		changing := 0
		c.beforeSet = func(context.Context, []lb.Target) error {
			changing++
			defer func() { changing-- }()
			time.Sleep(time.Second)
			if changing > 1 {
				t.Error("two changes are under way")
			}
			return nil
		}
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				if got := ask(t, s, targets("PUT", "g"), wire.EncodeTargets([]lb.Target{{Address: "10.0.0.1", Port: int32(1 + i)}})); got.status != http.StatusNoContent || got.body != "" {
					t.Errorf("%d %s", got.status, got.body)
				}
			})
			synctest.Wait()
		}
		all.Wait()
	})
}

// TestALongCallEnds has a client give up again and again: the attempts of a call wait for the first
// one, and the one that comes after its end gets the answer.
func TestALongCallEnds(t *testing.T) {
	for name, line := range map[string]string{"a read": observe(shop), "a step": stepsOf(shop)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCloud(t)
				c.beforeObserve = func(ctx context.Context) error {
					time.Sleep(20 * time.Second)
					return ctx.Err()
				}
				s := serving(t, c, serve.Options{})
				var message any
				if name == "a step" {
					message = step("a", create())
				}
				begun := time.Now()
				var got reply
				attempts := 0
				for got.status != http.StatusOK && attempts < 20 {
					attempts++
					ctx, leave := context.WithTimeout(t.Context(), 4*time.Second)
					got = askUntil(ctx, t, s, line, message, "Request-Id: call-1")
					leave()
					time.Sleep(time.Second)
				}
				if attempts != 5 || time.Since(begun) > 25*time.Second || c.observes.Load() != 1 {
					t.Errorf("%d attempts in %s: %d %s, after %d observations", attempts, time.Since(begun), got.status, got.body, c.observes.Load())
				}
				// Another call begins anew, and an answer is kept for the next attempt alone.
				ask(t, s, observe(shop), nil, "Request-Id: call-2")
				ask(t, s, observe(shop), nil, "Request-Id: call-2")
				if n := c.observes.Load(); n != 3 {
					t.Errorf("%d observations", n)
				}
			})
		})
	}
}

// TestAnAnswerIsKeptForAMinute has the next attempt come too late.
func TestAnAnswerIsKeptForAMinute(t *testing.T) {
	for after, want := range map[time.Duration]int32{59 * time.Second: 1, 61 * time.Second: 2} {
		synctest.Test(t, func(t *testing.T) {
			c := newCloud(t)
			c.beforeObserve = func(context.Context) error {
				time.Sleep(2 * time.Second)
				return nil
			}
			s := serving(t, c, serve.Options{})
			ctx, leave := context.WithTimeout(t.Context(), time.Second)
			defer leave()
			askUntil(ctx, t, s, observe(shop), nil, "Request-Id: call-1")
			time.Sleep(time.Second + after)
			if got := ask(t, s, observe(shop), nil, "Request-Id: call-1"); got.status != http.StatusOK || c.observes.Load() != want {
				t.Errorf("after %s: %d, %d observations", after, got.status, c.observes.Load())
			}
		})
	}
}

func TestAPanicIsAProblem(t *testing.T) {
	c := newCloud(t)
	s := serving(t, c, serve.Options{})
	c.beforeObserve = func(context.Context) error { panic("oh") }
	for _, line := range []string{observe(shop), "GET /load-balancer/active?key=a"} {
		if got := ask(t, s, line, nil); got.status != 500 || got.problem.Type != v1.ProblemOther || !strings.Contains(got.problem.Detail, "panicked") {
			t.Errorf("%s: %d %s", line, got.status, got.body)
		}
	}
	if r := apply(t, s, "a", create()); r.Problem == nil || !strings.Contains(r.Problem.Detail, "panicked") || c.applies.Load() != 0 {
		t.Errorf("before the step: %+v", r)
	}
	c.beforeObserve = nil
	c.beforeApply = func(context.Context, *lb.Observed, plan.Step) error { panic("ah") }
	if r := apply(t, s, "a", create()); r.Problem == nil || r.Problem.Type != v1.ProblemOther || !strings.Contains(r.Problem.Detail, "panicked") || c.applies.Load() != 1 {
		t.Errorf("in the step: %+v", r)
	}
	c.beforeSet = func(context.Context, []lb.Target) error { panic("eh") }
	if got := ask(t, s, targets("PUT", "g"), `{"targets":[]}`); got.status != 500 || !strings.Contains(got.problem.Detail, "panicked") {
		t.Errorf("setting members: %d %s", got.status, got.body)
	}
	c.beforeApply, c.beforeSet = nil, nil
	done(t, s, "b", create())
	done(t, s, "g", group("g"))
	if got := ask(t, s, targets("PUT", "g"), `{"targets":[]}`); got.status != http.StatusNoContent {
		t.Errorf("afterwards: %d %s", got.status, got.body)
	}
}

func TestProblemsOfCalls(t *testing.T) {
	c := newCloud(t)
	s := serving(t, c, serve.Options{})
	for _, row := range []struct {
		err    error
		status int
		kind   v1.ProblemType
		after  string
	}{
		{fmt.Errorf("a: %w", providers.ErrPending), 409, v1.ProblemPending, ""},
		{fmt.Errorf("a: %w", providers.ErrRejected), 422, v1.ProblemRejected, ""},
		{fmt.Errorf("a: %w", providers.ErrNoRoom), 422, v1.ProblemNoRoom, ""},
		{fmt.Errorf("a: %w", providers.ErrDenied), 403, v1.ProblemDenied, ""},
		{&providers.RetryAfter{Err: fmt.Errorf("a: %w", providers.ErrThrottled), In: 7 * time.Second}, 429, v1.ProblemThrottled, "7"},
		{errors.New("a"), 500, v1.ProblemOther, ""},
	} {
		c.beforeObserve = func(context.Context) error { return row.err }
		got := ask(t, s, observe(shop), nil)
		if got.status != row.status || got.problem.Type != row.kind || got.problem.Detail != row.err.Error() || got.header.Get("Retry-After") != row.after {
			t.Errorf("%v: %d %s, Retry-After %q", row.err, got.status, got.body, got.header.Get("Retry-After"))
		}
	}
}

// TestClosing has a server close while a step is under way, and while one is that does not end.
func TestClosing(t *testing.T) {
	for name, c := range map[string]struct {
		takes, patience time.Duration
		late            bool
	}{
		"in time": {10 * time.Second, time.Minute, false},
		"late":    {time.Hour, time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud := newCloud(t)
				cloud.beforeApply = func(ctx context.Context, _ *lb.Observed, _ plan.Step) error {
					select {
					case <-ctx.Done():
						return context.Cause(ctx)
					case <-time.After(c.takes):
						return nil
					}
				}
				s := serve.New(cloud, serve.Options{})
				answered := make(chan reply, 1)
				go func() { answered <- ask(t, s, stepsOf(shop), step("a", create())) }()
				synctest.Wait()
				closed := make(chan error, 1)
				go func() { closed <- s.Close(c.patience) }()
				synctest.Wait()
				if refused := ask(t, s, stepsOf(shop), step("b", group("g"))); refused.status != http.StatusServiceUnavailable || refused.problem.Type != v1.ProblemOther {
					t.Errorf("a step meanwhile: %d %s", refused.status, refused.body)
				}
				if r := read[v1.Applied](t, <-answered).Results[0]; (r.Problem != nil) != c.late {
					t.Errorf("%+v", r)
				}
				if err := <-closed; (err != nil) != c.late {
					t.Errorf("closed with %v", err)
				}
			})
		})
	}
}
