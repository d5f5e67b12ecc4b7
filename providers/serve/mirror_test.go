package serve_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/serve"
)

// This file tests what a provider is shown with each step: what there is, as an operator in its own
// process would have shown it.

// shown has each step shown exactly what the cloud has at that moment. The steps are made one after
// the other.
func shown(t *testing.T, c *cloud) {
	c.beforeApply = func(ctx context.Context, seen *lb.Observed, s plan.Step) error {
		want, err := c.Provider.Observe(ctx, seen.Key, false)
		if diff := cmp.Diff(want, seen, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s %s is shown (-there +shown): %v\n%s", s.Op(), s.ID(), err, diff)
		}
		return nil
	}
}

func TestStepsAreShownWhatThereIs(t *testing.T) {
	c := newCloud(t)
	s := serving(t, c, serve.Options{})
	shown(t, c)
	for i, do := range life() {
		if i == 5 {
			if n := c.observes.Load(); n != 1 {
				t.Errorf("the cloud was observed %d times for one plan", n)
			}
			s = serving(t, c, serve.Options{}) // started anew in the middle of a plan, with empty memory
		}
		done(t, s, fmt.Sprint(i), do)
	}
	if n := c.observes.Load(); n != 2 {
		t.Errorf("the cloud was observed %d times for a plan with a restart", n)
	}
}

// life are steps that make a load balancer.
func life() []plan.Step {
	action := lb.Action{Kind: "fixed", Status: 404, ContentType: "text/plain"}
	out := []plan.Step{create(), group("g"), plan.CreateListener{Listener: lb.Listener{Port: 80, Protocol: "HTTP", Default: action}}}
	for i := range 5 {
		out = append(out, plan.CreateRule{Port: 80, Priority: 10 * (i + 1), Rule: lb.Rule{
			Conditions: []lb.Condition{{Field: "host", Values: []string{fmt.Sprintf("%d.test", i)}}}, Action: action,
		}})
	}
	return append(out, plan.RespaceRules{Port: 80, To: map[int]int{10: 5, 20: 15}})
}

func TestAnObservationByTheOperatorIsTheMirror(t *testing.T) {
	c := newCloud(t)
	s := serving(t, c, serve.Options{})
	shown(t, c)
	done(t, s, "a", create())
	ask(t, s, "GET /load-balancer/active?key="+url.QueryEscape(string(shop)), nil)                // which is shown what there is, too
	if _, err := c.Provider.Apply(t.Context(), &lb.Observed{Key: shop}, group("g")); err != nil { // another hand
		t.Fatal(err)
	}
	ask(t, s, observe(shop), nil)
	done(t, s, "b", group("h"))
	ask(t, s, observe("another"), nil)
	if n := c.observes.Load(); n != 3 {
		t.Errorf("the cloud was observed %d times", n)
	}
	ask(t, s, "GET /load-balancer/active?key="+string(shop), nil)
	if n := c.observes.Load(); n != 3 {
		t.Errorf("to ask whether it answers, the cloud was observed %d times", n)
	}
	if got := ask(t, s, "GET /load-balancer/active?key="+string(shop), nil); got.body != `{"active":true}` {
		t.Errorf("it answers: %s", got.body)
	}
	if got := ask(t, s, "GET /load-balancer/active?key=none", nil); got.body != `{"active":false}` {
		t.Errorf("what does not exist answers: %s", got.body)
	}
}

// TestAMirrorThatMayBeWrongIsGivenUp has steps fail after they were carried out.
func TestAMirrorThatMayBeWrongIsGivenUp(t *testing.T) {
	for name, row := range map[string]struct {
		err   error
		step  plan.Step
		kept  bool
		apply bool // the step is carried out all the same
	}{
		"an error of no class":  {err: errors.New("lost"), step: group("g"), apply: true},
		"a rejected step":       {err: providers.ErrRejected, step: group("g")},
		"a throttled step":      {err: providers.ErrThrottled, step: group("g"), apply: true},
		"a step that waits":     {err: providers.ErrPending, step: group("g"), apply: true},
		"a wait for targets":    {err: providers.ErrPending, step: plan.AwaitTargets{Group: "g"}, kept: true},
		"a wait that goes awry": {err: errors.New("lost"), step: plan.AwaitTargets{Group: "g"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			s := serving(t, c, serve.Options{})
			done(t, s, "a", create())
			c.beforeApply = func(ctx context.Context, seen *lb.Observed, step plan.Step) error {
				if row.apply {
					if _, err := c.Provider.Apply(ctx, seen, step); err != nil {
						t.Error(err)
					}
				}
				return row.err
			}
			if r := apply(t, s, "b", row.step); r.Problem == nil {
				t.Error("the step did not fail")
			}
			shown(t, c)
			done(t, s, "c", group("h"))
			want := int32(2)
			if row.kept {
				want = 1
			}
			if n := c.observes.Load(); n != want {
				t.Errorf("the cloud was observed %d times, want %d", n, want)
			}
		})
	}
}

func TestAPanickingStepHasTheNextOneLook(t *testing.T) {
	c := newCloud(t)
	s := serving(t, c, serve.Options{})
	done(t, s, "a", create())
	c.beforeApply = func(context.Context, *lb.Observed, plan.Step) error { panic("oh") }
	apply(t, s, "b", group("g"))
	shown(t, c)
	done(t, s, "c", group("h"))
	if n := c.observes.Load(); n != 2 {
		t.Errorf("the cloud was observed %d times", n)
	}
}

// TestAnObservationThatOverlapsIsNoMirror has a step begin and end while the operator observes:
// what it sees is from before.
func TestAnObservationThatOverlapsIsNoMirror(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		s := serving(t, c, serve.Options{})
		done(t, s, "a", create())
		c.beforeObserve = func(context.Context) error { return nil }
		slow := &slowObserve{cloud: c, takes: 3 * time.Second}
		s = serve.New(slow, serve.Options{})
		ask(t, s, observe(shop), nil) // the mirror is there
		var all sync.WaitGroup
		all.Go(func() { ask(t, s, observe(shop), nil) })
		time.Sleep(time.Second)
		shown(t, c)
		done(t, s, "b", group("g"))
		all.Wait()
		done(t, s, "c", group("h"))
	})
}

// A slowObserve takes long to tell what it saw.
type slowObserve struct {
	*cloud
	takes time.Duration
	then  time.Duration // from the second time on; 0: the same
}

func (s *slowObserve) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	seen, err := s.cloud.Observe(ctx, key, deep)
	takes := s.takes
	if s.then > 0 && s.observes.Load() > 1 {
		takes = s.then
	}
	time.Sleep(takes)
	return seen, err
}

// TestAnObservationOfTheServersOwnComesLate has the operator observe meanwhile, and a step be
// carried out.
func TestAnObservationOfTheServersOwnComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		if _, err := c.Provider.Apply(t.Context(), &lb.Observed{Key: shop}, create()); err != nil {
			t.Fatal(err)
		}
		shown(t, c)
		s := serve.New(&slowObserve{cloud: c, takes: 4 * time.Second, then: time.Second}, serve.Options{})
		var all sync.WaitGroup
		all.Go(func() { done(t, s, "late", group("late")) })
		time.Sleep(time.Second)
		ask(t, s, observe(shop), nil)
		done(t, s, "early", group("early"))
		all.Wait()
	})
}

// TestAnObservationDuringAStepThatBeganWhileItWaited sees what the step did: the mirror does not
// follow the step then.
func TestAnObservationDuringAStepThatBeganWhileItWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		s := serving(t, c, serve.Options{})
		steps := life()
		for i, do := range steps[:len(steps)-1] {
			done(t, s, fmt.Sprint(i), do)
		}
		c.afterApply = func(context.Context, *lb.Observed, plan.Step) error {
			time.Sleep(2 * time.Second)
			return nil
		}
		var all sync.WaitGroup
		all.Go(func() { done(t, s, "first", group("first")) })
		time.Sleep(time.Second)
		all.Go(func() { ask(t, s, observe(shop), nil) })
		synctest.Wait()
		all.Go(func() { done(t, s, "second", plan.RespaceRules{Port: 80, To: map[int]int{40: 45, 45: 48}}) })
		all.Wait()
		c.afterApply = nil
		shown(t, c)
		done(t, s, "after", group("after"))
	})
}

// TestParallelStepsOfALoadBalancerThatIsNotKnown look once, and each is shown something that was
// there.
func TestParallelStepsOfALoadBalancerThatIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		s := serve.New(&slowObserve{cloud: c, takes: time.Second}, serve.Options{})
		done(t, s, "a", create())
		s = serve.New(&slowObserve{cloud: c, takes: time.Second}, serve.Options{})
		c.beforeApply = func(_ context.Context, seen *lb.Observed, _ plan.Step) error {
			if !seen.Exists {
				t.Error("a step is shown nothing")
			}
			time.Sleep(time.Second)
			return nil
		}
		before := c.observes.Load()
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() { done(t, s, fmt.Sprint(i), group(lb.GroupID(fmt.Sprintf("g%d", i)))) })
		}
		all.Wait()
		if n := c.observes.Load() - before; n != 1 {
			t.Errorf("the cloud was observed %d times", n)
		}
		shown(t, c)
		done(t, s, "after", group("h"))
	})
}

// TestStepsObservationsAndFailuresAtOnce mixes all that changes a mirror, and then has a step be
// shown what there is.
func TestStepsObservationsAndFailuresAtOnce(t *testing.T) {
	for round := range 20 {
		c := newCloud(t)
		s := serving(t, c, serve.Options{})
		done(t, s, "a", create())
		c.afterApply = func(_ context.Context, _ *lb.Observed, step plan.Step) error {
			if s := step.ID(); s[len(s)-1] == '3' {
				return errors.New("lost")
			}
			return nil
		}
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				apply(t, s, fmt.Sprint(i), group(lb.GroupID(fmt.Sprintf("g%d", i))))
				if i%4 == 0 {
					ask(t, s, observe(shop), nil)
				}
			})
		}
		all.Wait()
		c.afterApply = nil
		shown(t, c)
		done(t, s, "after", group("h"))
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}
