package providers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// scripted is a cloud whose Apply is a function of the step's ID.
type scripted struct {
	providers.Provider
	apply func(ctx context.Context, seen *lb.Observed, id string) error

	mu      sync.Mutex
	applied []string
}

func (s *scripted) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if s.apply != nil {
		if err := s.apply(ctx, seen, step.ID()); err != nil {
			return plan.Result{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applied = append(s.applied, step.ID())
	return plan.Result{Handle: "handle of " + step.ID()}, nil
}

// steps is a plan that creates target groups, each given as "id" or "id < before,before".
func steps(lines ...string) plan.Plan {
	index := map[string]int{}
	var p plan.Plan
	for i, line := range lines {
		id, before, _ := strings.Cut(line, " < ")
		index[id] = i
		var after []int
		for b := range strings.SplitSeq(before, ",") {
			if at, ok := index[b]; ok {
				after = append(after, at)
			}
		}
		p.Steps = append(p.Steps, plan.Planned{
			Step:   plan.CreateTargetGroup{Group: lb.TargetGroup{ID: lb.GroupID(id)}},
			After:  after,
			Origin: []diag.Source{{Kind: "Ingress", Name: "of " + id}},
		})
	}
	return p
}

func TestAWaitSaysWhatForAndIsNoFailureToApply(t *testing.T) {
	pending := fmt.Errorf("none is healthy: %w", providers.ErrPending)
	cloud := &scripted{apply: func(context.Context, *lb.Observed, string) error { return pending }}
	p := plan.Plan{Steps: []plan.Planned{{Step: plan.AwaitTargets{Group: "shop/web:80"}}}}
	_, err := providers.Run(t.Context(), cloud, &lb.Observed{}, p, providers.Options{})
	if want := "waiting for the targets of shop/web:80: none is healthy: not yet"; err == nil || err.Error() != want {
		t.Errorf("it says %v, want %s", err, want)
	}
}

func ids(o *lb.Observed) []string {
	var out []string
	for _, g := range o.TargetGroups {
		out = append(out, string(g.ID))
	}
	return out
}

func TestRunGoesAsFarAsItCan(t *testing.T) {
	odd := errors.New("connection reset")
	for name, c := range map[string]struct {
		reason  string
		plan    plan.Plan
		fail    map[string]error
		want    []string
		reject  []string
		pending []string
		err     string
	}{
		"nothing to do": {
			reason: "an empty plan is done",
		},
		"all succeed": {
			reason: "each step is kept, with what the cloud assigned",
			plan:   steps("a", "b < a", "c < a,b"),
			want:   []string{"a", "b", "c"},
		},
		"a chain stops": {
			reason: "what waits for a failed step, directly or not, is not run; its neighbours are",
			plan:   steps("a", "b < a", "c < b", "d", "e < d"),
			fail:   map[string]error{"b": odd},
			want:   []string{"a", "d", "e"},
			err:    "applying create target group b: connection reset",
		},
		"a rejection": {
			reason: "a rejection names the routes behind the step, so that they can be refused by name",
			plan:   steps("a", "b", "c < a,b"),
			fail:   map[string]error{"b": fmt.Errorf("101st rule: %w", providers.ErrRejected)},
			want:   []string{"a"},
			reject: []string{"of b"},
			err:    "applying create target group b: 101st rule: rejected",
		},
		"pending": {
			reason:  "what the cloud is not ready for is asked for again later, and holds up only what needs it",
			plan:    steps("a", "b < a", "c"),
			fail:    map[string]error{"a": fmt.Errorf("no healthy target: %w", providers.ErrPending)},
			want:    []string{"c"},
			pending: []string{"a"},
			err:     "applying create target group a: no healthy target: not yet",
		},
		"several errors": {
			reason: "every error is reported, in the order of the plan whatever order they came in",
			plan:   steps("a", "b", "c"),
			fail:   map[string]error{"a": odd, "c": providers.ErrDenied},
			want:   []string{"b"},
			err:    "applying create target group a: connection reset\napplying create target group c: denied",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := &scripted{apply: func(_ context.Context, _ *lb.Observed, id string) error { return c.fail[id] }}
			seen := &lb.Observed{}
			got, err := providers.Run(t.Context(), cloud, seen, c.plan, providers.Options{})
			if diff := cmp.Diff(c.want, ids(seen)); diff != "" {
				t.Errorf("%s: kept (-want +got):\n%s", c.reason, diff)
			}
			if got.Done != len(c.want) {
				t.Errorf("%s: done %d, want %d", c.reason, got.Done, len(c.want))
			}
			var rejected, pending []string
			for _, r := range got.Rejections {
				rejected = append(rejected, r.Origin[0].Name)
			}
			for _, s := range got.Pending {
				pending = append(pending, s.ID())
			}
			if diff := cmp.Diff([][]string{c.reject, c.pending}, [][]string{rejected, pending}); diff != "" {
				t.Errorf("%s: rejections and pending (-want +got):\n%s", c.reason, diff)
			}
			if text := fmt.Sprint(err); text != c.err && !(err == nil && c.err == "") {
				t.Errorf("%s: error %q, want %q", c.reason, text, c.err)
			}
			for id, want := range c.fail {
				if !errors.Is(err, want) {
					t.Errorf("%s: the error of %s is lost", c.reason, id)
				}
			}
		})
	}
}

// Handles come back from the cloud with each step and must land in what is kept.
func TestRunKeepsWhatTheCloudAssigned(t *testing.T) {
	seen := &lb.Observed{}
	if _, err := providers.Run(t.Context(), &scripted{}, seen, steps("a"), providers.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := seen.TargetGroup("a").Handle; got != "handle of a" {
		t.Errorf("handle %q", got)
	}
}

// Each step of a wave waits for the others of the wave, so the plan can end only if they are under
// way at the same time; and no more than the limit ever are.
func TestRunIsParallelAndBounded(t *testing.T) {
	const limit = 3
	var mu sync.Mutex
	var running, most int
	gate := make(chan struct{}, limit)
	cloud := &scripted{apply: func(_ context.Context, seen *lb.Observed, _ string) error {
		mu.Lock()
		running++
		most = max(most, running)
		if running == limit {
			for range limit {
				gate <- struct{}{}
			}
		}
		mu.Unlock()
		<-gate
		_ = ids(seen) // races with whoever writes what is kept while a step reads it
		mu.Lock()
		running--
		mu.Unlock()
		return nil
	}}
	p := steps("a", "b", "c", "d < a,b,c", "e < a,b,c", "f < a,b,c")
	seen := &lb.Observed{}
	if _, err := providers.Run(t.Context(), cloud, seen, p, providers.Options{Parallel: limit}); err != nil {
		t.Fatal(err)
	}
	if most != limit {
		t.Errorf("%d steps at once, want %d", most, limit)
	}
}

// As many steps are under way as are asked for, where as many can be, and four where none is said.
func TestNoMoreStepsAreUnderWayThanTheLimit(t *testing.T) {
	for limit, want := range map[int]int{-1: 4, 0: 4, 1: 1, 2: 2, 5: 5} {
		synctest.Test(t, func(t *testing.T) {
			running, end := atomic.Int32{}, make(chan struct{})
			cloud := &scripted{apply: func(context.Context, *lb.Observed, string) error {
				running.Add(1)
				<-end
				return nil
			}}
			var run sync.WaitGroup
			run.Go(func() {
				if _, err := providers.Run(t.Context(), cloud, &lb.Observed{}, independent(10), providers.Options{Parallel: limit}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			if n := running.Load(); int(n) != want {
				t.Errorf("of 10 steps %d are under way, with the limit %d", n, limit)
			}
			close(end)
			run.Wait()
		})
	}
}

// A run that is told to stop during its last step has done all of its plan.
func TestARunThatIsToldToStopAtItsEndSucceeds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cloud := &scripted{apply: func(_ context.Context, _ *lb.Observed, id string) error {
		if id == "b" {
			cancel()
		}
		return nil
	}}
	if got, err := providers.Run(ctx, cloud, &lb.Observed{}, steps("a", "b < a"), providers.Options{}); err != nil || got.Done != 2 {
		t.Errorf("it has done %d steps, and ends with %v", got.Done, err)
	}
}

// A step sees the results of everything that it depends on, and does not see them change.
func TestRunShowsEachStepASteadyView(t *testing.T) {
	p := steps("a", "b < a", "c < a", "d < b,c", "e < b", "f < c")
	before := map[string][]string{"b": {"a"}, "c": {"a"}, "d": {"a", "b", "c"}, "e": {"a", "b"}, "f": {"a", "c"}}
	cloud := &scripted{apply: func(_ context.Context, seen *lb.Observed, id string) error {
		have := ids(seen)
		for _, want := range before[id] {
			if !slices.Contains(have, want) {
				return fmt.Errorf("%s does not see %s", id, want)
			}
		}
		return nil
	}}
	for range 50 {
		if _, err := providers.Run(t.Context(), cloud, &lb.Observed{}, p, providers.Options{}); err != nil {
			t.Fatal(err)
		}
	}
}

// A cancelled run lets the step under way finish, keeps its result and starts no other.
func TestRunStopsBetweenSteps(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cloud := &scripted{apply: func(_ context.Context, _ *lb.Observed, id string) error {
		if id == "b" {
			cancel()
		}
		return nil
	}}
	seen := &lb.Observed{}
	got, err := providers.Run(ctx, cloud, seen, steps("a", "b < a", "c < b"), providers.Options{})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "stopping after 2 of 3 steps") {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, ids(seen)); diff != "" || got.Done != 2 {
		t.Errorf("done %d, kept (-want +got):\n%s", got.Done, diff)
	}
}

// TestStepsShareACopy has a step read at least what was done before it, from as few copies as possible.
func TestStepsShareACopy(t *testing.T) {
	lines := []string{"a"}
	for i := range 200 {
		lines = append(lines, fmt.Sprintf("b%d < a", i))
	}
	for i := range 200 {
		lines = append(lines, fmt.Sprintf("c%d < b%d", i, i))
	}
	before := map[string]string{}
	for _, line := range lines {
		id, after, _ := strings.Cut(line, " < ")
		before[id] = after
	}
	var mu sync.Mutex
	copies := map[*lb.Observed]bool{}
	cloud := &scripted{apply: func(_ context.Context, seen *lb.Observed, id string) error {
		mu.Lock()
		copies[seen] = true
		mu.Unlock()
		for at := before[id]; at != ""; at = before[at] {
			if !slices.Contains(ids(seen), at) {
				t.Errorf("%s does not see %s, which was done before it", id, at)
			}
		}
		return nil
	}}
	seen := &lb.Observed{}
	if _, err := providers.Run(t.Context(), cloud, seen, steps(lines...), providers.Options{}); err != nil {
		t.Fatal(err)
	}
	if len(seen.TargetGroups) != len(lines) {
		t.Errorf("%d of %d steps are kept", len(seen.TargetGroups), len(lines))
	}
	if n := len(copies); n > 12 { // before a, after it, and as the last of b are done
		t.Errorf("%d copies were made for %d steps", n, len(lines))
	}
}

// Calls that wait for their turn when the context of their plan ends are not made. Those under way
// are.
func TestAPlanThatEndsWaitsForNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watch := newStopwatch()
		cloud := providers.LimitRate(watch, 1.0/3600, 1)
		over := errors.New("it is over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, over)
		defer cancel()
		outcome, err := providers.Run(ctx, cloud, &lb.Observed{Key: "a"}, independent(10), providers.Options{})
		if took := time.Since(watch.start); took != time.Minute || !errors.Is(err, over) || outcome.Done != 1 || outcome.HalfDone {
			t.Errorf("after %s, with %d steps done, the plan ends with %v, half done: %t", took, outcome.Done, err, outcome.HalfDone)
		}
	})
}

// A step is half done if it fails after a call of it was sent, and not if its plan ends before, or if the
// cloud is not ready for it.
func TestAStepIsHalfDone(t *testing.T) {
	for name, c := range map[string]struct {
		room int // calls that can be sent
		fail error
		want bool
	}{
		"no call is sent":              {room: 0},
		"the first of its two calls":   {room: 1, want: true},
		"all calls are sent":           {room: 2},
		"it fails":                     {room: 2, fail: errors.New("lost"), want: true},
		"it is refused":                {room: 2, fail: providers.ErrRejected, want: true},
		"it has to be asked for again": {room: 2, fail: providers.ErrPending},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				endpoint := providers.NewInFlight(time.Hour, time.Hour, nil)
				for range 4 - c.room { // these are under way
					if _, err := endpoint.Send(t.Context(), "other"); err != nil {
						t.Fatal(err)
					}
				}
				cloud := &scripted{apply: func(ctx context.Context, _ *lb.Observed, _ string) error {
					for range 2 {
						if _, err := endpoint.Send(ctx, "call"); err != nil {
							return err
						}
					}
					return c.fail
				}}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				outcome, err := providers.Run(ctx, cloud, &lb.Observed{}, steps("a"), providers.Options{})
				if outcome.HalfDone != c.want {
					t.Errorf("half done: %t, want %t; error %v", outcome.HalfDone, c.want, err)
				}
			})
		})
	}
}

// TestOneCauseIsToldOnce has steps fail for the same cause, and others that the cloud refuses.
func TestOneCauseIsToldOnce(t *testing.T) {
	cloud := &scripted{apply: func(_ context.Context, _ *lb.Observed, id string) error {
		switch id {
		case "c":
			return errors.New("another one")
		case "d", "e":
			return providers.ErrRejected
		}
		return errors.New("it is away")
	}}
	got, err := providers.Run(t.Context(), cloud, &lb.Observed{}, steps("a", "b", "c", "d", "e", "f"), providers.Options{})
	want := "applying create target group a, and 2 more steps: it is away\napplying create target group c: another one\napplying create target group d: rejected\napplying create target group e: rejected"
	if err == nil || err.Error() != want || len(got.Rejections) != 2 {
		t.Errorf("%v\n%+v", err, got)
	}
}
