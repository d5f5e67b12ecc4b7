// Package providertest is the contract of a providers.Provider as a test suite. A provider that
// passes can be planned for: what Run believes is there is there, a plan that was cut short can be
// made again, and nobody else's load balancer is touched.
package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// Test holds a provider to the contract. Start makes one that owns nothing yet, and target is one
// that it finds healthy, another one each time.
func Test(t *testing.T, start func(t *testing.T) providers.Provider, target func(t *testing.T) lb.Target) {
	for name, clause := range Clauses(start, target) {
		t.Run(name, clause)
	}
}

// Clauses are the tests of the contract by name, for tests that run each in a bubble of package testing/synctest.
func Clauses(start func(t *testing.T) providers.Provider, target func(t *testing.T) lb.Target) map[string]func(t *testing.T) {
	clauses := map[string]func(t *testing.T){}
	for name, clause := range map[string]func(suite, *testing.T){
		"what does not exist observes as not existing":  suite.missing,
		"what Run keeps equals a fresh observation":     suite.kept,
		"a plan that has run leaves nothing to do":      suite.arrives,
		"a plan cut short and made again ends the same": suite.resumes,
		"a step that already holds succeeds":            suite.twice,
		"other keys are untouched":                      suite.neighbours,
		"targets come and go":                           suite.targets,
		"what is owned is listed":                       suite.listed,
	} {
		clauses[name] = func(t *testing.T) { clause(suite{start, stages(t, target(t)), target(t)}, t) }
	}
	return clauses
}

// A suite is what every clause of the contract works with: one load balancer's life as a list of
// wishes, from nothing to nothing.
type suite struct {
	start  func(t *testing.T) providers.Provider
	stages []stage
	spare  lb.Target // that no stage has
}

func (s suite) missing(t *testing.T) {
	got := newCloud(t, s.start(t)).observe(key)
	if diff := cmp.Diff(&lb.Observed{Key: key}, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
}

func (s suite) kept(t *testing.T) {
	c := newCloud(t, s.start(t))
	for _, stage := range s.stages {
		seen := c.observe(key)
		for _, step := range c.diff(seen, stage.want).Steps {
			before := seen.Clone()
			result := c.apply(seen, step.Step)
			if diff := cmp.Diff(before, seen, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s: %s writes what it was shown:\n%s", stage.name, describe(step.Step), diff)
			}
			step.Step.Do(seen, result)
			if diff := cmp.Diff(seen, c.observe(key), canonical); diff != "" {
				t.Fatalf("%s: after %s (-kept +observed):\n%s", stage.name, describe(step.Step), diff)
			}
			if await, ok := step.Step.(plan.AwaitTargets); ok && !c.observe(key).TargetGroup(await.Group).Ready {
				t.Errorf("%s: %s succeeded, but the group is not ready", stage.name, await.Group)
			}
		}
		if diff := cmp.Diff(c.observe(key), c.look(key, true), canonical); diff != "" {
			t.Errorf("%s: looking deeply (-digests +settings):\n%s", stage.name, diff)
		}
	}
}

func (s suite) arrives(t *testing.T) {
	c := newCloud(t, s.start(t))
	for _, stage := range s.stages {
		seen := c.observe(key)
		c.run(seen, stage.want)
		if diff := cmp.Diff(seen, c.observe(key), canonical); diff != "" {
			t.Fatalf("%s: (-kept +observed):\n%s", stage.name, diff)
		}
		c.arrived(stage)
	}
}

func (s suite) resumes(t *testing.T) {
	for i, stage := range s.stages {
		for cut := 1; ; cut++ {
			c := newCloud(t, s.start(t))
			for _, before := range s.stages[:i] {
				c.run(c.observe(key), before.want)
			}
			seen := c.observe(key)
			steps := c.diff(seen, stage.want).Steps
			if cut >= len(steps) {
				break
			}
			for _, step := range steps[:cut] {
				step.Step.Do(seen, c.apply(seen, step.Step))
			}
			c.run(c.observe(key), stage.want)
			c.arrived(stage)
		}
	}
}

func (s suite) twice(t *testing.T) {
	c := newCloud(t, s.start(t))
	for _, stage := range s.stages {
		seen := c.observe(key)
		for _, step := range c.diff(seen, stage.want).Steps {
			first := c.apply(seen, step.Step)
			once := c.observe(key)
			c.apply(seen, step.Step) // by one who has not heard of the first time
			step.Step.Do(seen, first)
			c.apply(seen, step.Step) // and by one who has
			if diff := cmp.Diff(once, c.observe(key), canonical); diff != "" {
				t.Fatalf("%s: %s again (-once +twice):\n%s", stage.name, describe(step.Step), diff)
			}
		}
		c.arrived(stage)
	}
}

func (s suite) neighbours(t *testing.T) {
	c := newCloud(t, s.start(t))
	for _, stage := range s.stages[:len(s.stages)-1] {
		neighbour := stage.want
		neighbour.Key = otherKey
		c.run(c.observe(otherKey), neighbour)
	}
	want := c.observe(otherKey)
	for _, stage := range s.stages {
		c.run(c.observe(key), stage.want)
		if diff := cmp.Diff(want, c.observe(otherKey), canonical); diff != "" {
			t.Fatalf("%s: the neighbour (-before +after):\n%s", stage.name, diff)
		}
	}
}

func (s suite) targets(t *testing.T) {
	c := newCloud(t, s.start(t))
	if err := c.SetTargets(t.Context(), key, web, nil); err == nil {
		t.Error("setting the targets of a group that is not there is no error")
	}
	first := s.stages[0].want
	c.run(c.observe(key), first)
	registered := first.TargetGroups[0].Targets
	c.members(web, registered)
	more := append(slices.Clone(registered), s.spare)
	for _, want := range [][]lb.Target{more, more, more[1:], nil, registered} {
		if err := patiently(t.Context(), func() error { return c.SetTargets(t.Context(), key, web, want) }); err != nil {
			t.Fatal(err)
		}
		c.members(web, want)
	}
	c.arrived(s.stages[0]) // membership is none of a plan's business
}

func (s suite) listed(t *testing.T) {
	c := newCloud(t, s.start(t))
	for _, stage := range s.stages {
		c.run(c.observe(key), stage.want)
		want := !stage.want.Empty()
		var got []lb.Key
		err := patiently(t.Context(), func() (err error) {
			if got, err = c.List(t.Context()); err == nil && slices.Contains(got, key) != want {
				return fmt.Errorf("keys %v; %s in it should be %v: %w", got, key, want, providers.ErrPending) // lists may lag
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", stage.name, err)
		}
		if !slices.IsSorted(got) {
			t.Errorf("%s: keys %v are not in order", stage.name, got)
		}
	}
}

// A cloud is a provider under test, of which nothing may fail.
type cloud struct {
	providers.Provider
	t *testing.T
}

func newCloud(t *testing.T, p providers.Provider) cloud { return cloud{p, t} }

func (c cloud) observe(key lb.Key) *lb.Observed {
	c.t.Helper()
	return c.look(key, false)
}

// look observes, and waits where the cloud does not show yet what was made.
func (c cloud) look(key lb.Key, deep bool) (o *lb.Observed) {
	c.t.Helper()
	err := patiently(c.t.Context(), func() (err error) {
		o, err = c.Observe(c.t.Context(), key, deep)
		return err
	})
	if err != nil {
		c.t.Fatalf("observing %s: %v", key, err)
	}
	return o
}

func (c cloud) diff(seen *lb.Observed, want lb.LoadBalancer) plan.Plan {
	return plan.Diff(seen, want, c.Capabilities(lb.Class{}))
}

// apply applies one step, and waits where the cloud is not ready for it.
func (c cloud) apply(seen *lb.Observed, step plan.Step) plan.Result {
	c.t.Helper()
	var result plan.Result
	err := patiently(c.t.Context(), func() (err error) {
		result, err = c.Apply(c.t.Context(), seen, step)
		return err
	})
	if err != nil {
		c.t.Fatalf("applying %s: %v", describe(step), err)
	}
	return result
}

// run makes a load balancer what is wanted, planning again where the cloud is not ready.
func (c cloud) run(seen *lb.Observed, want lb.LoadBalancer) {
	c.t.Helper()
	err := patiently(c.t.Context(), func() error {
		_, err := providers.Run(c.t.Context(), c, seen, c.diff(seen, want), providers.Options{})
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// arrived checks that a stage is reached, by the plan's reckoning and by comparing.
func (c cloud) arrived(s stage) {
	c.t.Helper()
	seen := c.observe(s.want.Key)
	for _, step := range c.diff(seen, s.want).Steps {
		c.t.Errorf("%s: still to do: %s", s.name, describe(step.Step))
	}
	if diff := cmp.Diff(wanted(s.want), found(seen), cmpopts.EquateEmpty(), asSaid); diff != "" {
		c.t.Errorf("%s: (-want +observed):\n%s", s.name, diff)
	}
}

// members checks who is registered.
func (c cloud) members(group lb.GroupID, want []lb.Target) {
	c.t.Helper()
	var healths []lb.TargetHealth
	err := patiently(c.t.Context(), func() (err error) {
		healths, err = c.Targets(c.t.Context(), key, group)
		return err
	})
	var got []lb.Target
	for _, h := range healths {
		if h.State == "draining" {
			continue // it has left, and finishes what it was given
		}
		got = append(got, h.Target)
	}
	less := func(a, b lb.Target) bool { return a.String() < b.String() }
	if diff := cmp.Diff(want, got, cmpopts.SortSlices(less), cmpopts.EquateEmpty()); err != nil || diff != "" {
		c.t.Errorf("error %v, targets (-want +got):\n%s", err, diff)
	}
}

// patiently tries until the cloud is ready, ever less often.
func patiently(ctx context.Context, try func() error) error {
	deadline := time.Now().Add(patience)
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
		err := try()
		if !errors.Is(err, providers.ErrPending) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// patience is how long a cloud may take for anything, and how late it may show and list what was made or deleted.
const patience = 30 * time.Minute

func describe(s plan.Step) string { return s.Op() + " " + s.ID() }

// canonical compares observations. Whether a load balancer is active and a target group ready is left
// out: they become so in their own time.
var canonical = cmp.Options{
	cmpopts.EquateEmpty(),
	cmpopts.IgnoreFields(lb.Observed{}, "Active"),
	cmpopts.IgnoreFields(lb.ObservedTargetGroup{}, "Ready"),
	asSaid,
}

// asSaid compares rules by what they say: a cloud may describe them in another order or case.
var asSaid = cmp.Options{
	cmp.Comparer(func(a, b []lb.Condition) bool {
		return lb.Rule{Conditions: a}.MatchKey() == lb.Rule{Conditions: b}.MatchKey()
	}),
	cmp.Comparer(func(a, b lb.Action) bool { return a.Key() == b.Key() }),
}
