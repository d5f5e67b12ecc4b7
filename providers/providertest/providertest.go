// Package providertest tests the contract of a providers.Provider, clause by clause. The planner
// relies on it: the cloud has what Run expects, a plan that was interrupted can be applied again,
// and load balancers of other keys do not change.
//
// Test runs the clauses as subtests. Check runs them on a running provider, and returns findings.
package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/wire"
)

// A T is the part of *testing.T that clauses use. Fatalf and Skipf do not return.
type T interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
	Cleanup(f func())
}

// A Runner is a T that has subtests: a *testing.T.
type Runner[R any] interface {
	T
	Run(name string, f func(R)) bool
}

// A clause is one promise of the contract, and its test.
type clause struct {
	id, promise string
	advice      string // for authors of a provider that breaks it
	try         func(suite)
}

var clauses = []clause{
	{"missing", "what does not exist observes as not existing",
		"tell exists: false, and nothing else, of a key that has nothing", suite.missing},
	{"kept", "after each step, what it wrote is reported",
		"tell all that a step made, as the step has it, as soon as the step succeeds", suite.kept},
	{"arrives", "after all steps of a plan, nothing is left to do",
		"tell listeners, rules, target groups and certificates as the steps wrote them", suite.arrives},
	{"resumes", "a plan cut short and made again ends the same",
		"let each step be carried out by itself, and let what is done be seen", suite.resumes},
	{"twice", "a step that already holds succeeds",
		"look what there is first: a step that is true already succeeds and changes nothing",
		suite.twice},
	{"createListener", "createListener for an open port leaves the listener as it is",
		"let the step succeed and change nothing: modifyListener follows", suite.openPort},
	{"modifyListener", "modifyListener changes only the default one of a listener's certificates",
		"leave the others to attachCertificate and detachCertificate", suite.listenerCertificates},
	{"registerTargets", "registerTargets adds targets and removes none",
		"leave the targets that are there: PUT of members replaces them", suite.firstTargets},
	{"renumberRules", "renumberRules changes the priorities of rules and nothing else",
		"keep the handle of a rule, and leave a rule that has its new number", suite.renumbered},
	{"neighbours", "other keys are untouched",
		"keep what belongs to one key apart from what belongs to another one", suite.neighbours},
	{"targets", "targets come and go",
		"let PUT of members replace them, and refuse a target group that is not there", suite.targets},
	{"listed", "what is owned is listed",
		"list a key from its first step until nothing of it is left", suite.listed},
}

// Test tests a provider, each clause as a subtest of t. start returns a provider without load
// balancers, and each call of target returns another healthy target.
func Test[R Runner[R]](t R, start func(R) providers.Provider, target func(R) lb.Target) {
	for name, clause := range Clauses(start, target) {
		t.Run(name, clause)
	}
}

// Clauses returns the tests of the contract by name, for tests that run each in a bubble of package
// testing/synctest.
func Clauses[R T](start func(R) providers.Provider, target func(R) lb.Target) map[string]func(R) {
	out := map[string]func(R){}
	for _, c := range clauses {
		out[c.promise] = func(t R) {
			first, spare := target(t), target(t)
			c.try(suite{
				t: t, open: func() providers.Provider { return start(t) }, keys: func() keys {
					return keys{"fairlead/shop/web/internal", "fairlead/shop/other/internal"}
				},
				stages: stages(t, place{targets: []lb.Target{first}}), spare: &spare, timeout: defaultTimeout,
			})
		}
	}
	return out
}

// A suite holds what each clause needs: the stages in the life of a load balancer, from its
// creation to its deletion.
type suite struct {
	t       T
	open    func() providers.Provider
	keys    func() keys // of load balancers that do not exist
	stages  []stage
	spare   *lb.Target    // that no stage has; nil if there are no targets
	timeout time.Duration // of each operation of the cloud
	// of the deletion at the end; 0: nothing is deleted
	cleanupTimeout time.Duration
}

// keys has the key of the load balancer of a clause, and that of another one.
type keys struct{ own, other lb.Key }

func (s suite) missing() {
	c := s.cloud()
	got := c.observe(c.own)
	for _, diff := range wire.Differences(&lb.Observed{Key: c.own}, got) {
		c.t.Errorf("%s", diff)
	}
}

func (s suite) kept() {
	c := s.cloud()
	for _, stage := range s.stages {
		seen := c.observe(c.own)
		for _, step := range c.diff(seen, stage.want).Steps {
			before := seen.Clone()
			result := c.apply(seen, step.Step)
			if diff := cmp.Diff(before, seen, cmpopts.EquateEmpty()); diff != "" {
				c.t.Fatalf("%s: %s writes what it was shown:\n%s", stage.name, describe(step.Step), diff)
			}
			step.Step.Do(seen, result)
			if diff := differences(seen, c.observe(c.own)); diff != "" {
				c.t.Fatalf("%s: after %s: %s", stage.name, describe(step.Step), diff)
			}
			if await, ok := step.Step.(plan.AwaitTargets); ok &&
				!c.observe(c.own).TargetGroup(await.Group).Ready {
				c.t.Errorf("%s: %s succeeded, but the group is not ready", stage.name, await.Group)
			}
		}
		deep := c.look(c.own, true)
		if diff := differences(c.observe(c.own), deep); diff != "" {
			c.t.Errorf("%s: with deep=true: %s", stage.name, diff)
		}
		if deep.Read == nil { // a provider may return digests alone
			continue
		}
		want, got := plan.SettingsOfWanted(stage.want), plan.SettingsOfRead(deep)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			c.t.Errorf("%s: settings (-wanted +read):\n%s", stage.name, diff)
		}
	}
}

func (s suite) arrives() {
	c := s.cloud()
	for _, stage := range s.stages {
		seen := c.observe(c.own)
		c.run(seen, stage.want)
		if diff := differences(seen, c.observe(c.own)); diff != "" {
			c.t.Fatalf("%s: after all steps: %s", stage.name, diff)
		}
		c.expectStage(stage)
	}
}

// resumes cuts plans off after each step, and after each third one, and goes on with a plan that is made anew.
func (s suite) resumes() {
	for _, cut := range []int{1, 3} {
		c := s.cloud()
		for _, stage := range s.stages {
			for most := 10 + 2*len(c.diff(c.observe(c.own), stage.want).Steps); ; most-- {
				seen := c.observe(c.own)
				steps := c.diff(seen, stage.want).Steps
				if len(steps) == 0 {
					break
				}
				if most == 0 {
					c.t.Fatalf("%s: plans that are made anew after each step do not end: %s is next again and again", stage.name,
						describe(steps[0].Step))
				}
				for _, step := range steps[:min(cut, len(steps))] {
					step.Step.Do(seen, c.apply(seen, step.Step))
				}
			}
			c.expectStage(stage)
		}
		c.done()
	}
}

func (s suite) twice() {
	c := s.cloud()
	for _, stage := range s.stages {
		seen := c.observe(c.own)
		for _, step := range c.diff(seen, stage.want).Steps {
			first := c.apply(seen, step.Step)
			once := c.observe(c.own)
			c.apply(seen, step.Step) // the answer to the first time was lost
			step.Step.Do(seen, first)
			c.apply(seen, step.Step) // and the same after an answer
			if diff := differences(once, c.observe(c.own)); diff != "" {
				c.t.Fatalf("%s: %s again: %s", stage.name, describe(step.Step), diff)
			}
		}
		c.expectStage(stage)
	}
}

func (s suite) neighbours() {
	c := s.cloud()
	for _, stage := range s.stages[:len(s.stages)-1] {
		c.run(c.observe(c.other), stage.want)
	}
	want := c.observe(c.other)
	for _, stage := range s.stages {
		c.run(c.observe(c.own), stage.want)
		if diff := differences(want, c.observe(c.other)); diff != "" {
			c.t.Fatalf("%s: the load balancer of another key changed: %s", stage.name, diff)
		}
	}
}

func (s suite) targets() {
	if s.spare == nil {
		s.t.Skipf("there is no target")
	}
	c := s.cloud()
	if err := c.SetTargets(c.t.Context(), c.own, web, nil); err == nil {
		c.t.Errorf("setting the targets of a group that is not there is no error")
	}
	first := s.stages[0].want
	c.run(c.observe(c.own), first)
	registered := first.TargetGroups[0].Targets
	c.expectMembers(web, registered)
	more := append(slices.Clone(registered), *s.spare)
	for _, want := range [][]lb.Target{more, more, more[1:], nil, registered} {
		if err := c.retryPending(func() error {
			return c.SetTargets(c.t.Context(), c.own, web, want)
		}); err != nil {
			c.t.Fatalf("setting targets: %v", err)
		}
		c.expectMembers(web, want)
	}
	c.expectStage(s.stages[0]) // a plan does not change members
}

func (s suite) listed() {
	c := s.cloud()
	for _, stage := range s.stages {
		c.run(c.observe(c.own), stage.want)
		want := !stage.want.Empty()
		var got []lb.Key
		err := c.retryPending(func() (err error) {
			if got, err = c.List(c.t.Context()); err == nil && slices.Contains(got, c.own) != want {
				// lists may lag
				return fmt.Errorf("keys %v; %s in it should be %v: %w", got, c.own, want, providers.ErrPending)
			}
			return err
		})
		if err != nil {
			c.t.Errorf("%s: %v", stage.name, err)
		}
		if !slices.IsSorted(got) {
			c.t.Errorf("%s: keys %v are not in order", stage.name, got)
		}
	}
}

// A cloud is a provider under test. An error of a call fails the test.
type cloud struct {
	providers.Provider
	keys
	t       T
	timeout time.Duration
	// done deletes the load balancers, if the suite has a cleanup timeout. It is called at the end of
	// the clause, too.
	done func()
}

// cloud opens a cloud. At the end of the test its load balancers are deleted if the suite has a
// cleanup timeout.
func (s suite) cloud() cloud {
	s.t.Helper()
	c := cloud{checked{s.open()}, s.keys(), s.t, s.timeout, func() {}}
	if s.cleanupTimeout > 0 {
		var left error
		c.done = sync.OnceFunc(func() { left = c.clear(s.cleanupTimeout) })
		s.t.Cleanup(func() {
			if c.done(); left != nil {
				s.t.Errorf("%v", left)
			}
		})
	}
	return c
}

// checked is a provider to which no step goes that its capabilities exclude.
type checked struct{ providers.Provider }

func (c checked) Apply(
	ctx context.Context, seen *lb.Observed, step plan.Step,
) (plan.Result, error) {
	if why := plan.Excluded(step, c.Capabilities(lb.Class{})); why != "" {
		return plan.Result{}, fmt.Errorf("this version of Fairlead plans %s with %s, which the "+
			"capabilities exclude: report this as a defect of Fairlead, not of the provider",
			describe(step), why)
	}
	return c.Provider.Apply(ctx, seen, step)
}

func (c cloud) observe(key lb.Key) *lb.Observed {
	c.t.Helper()
	return c.look(key, false)
}

// look observes a load balancer, and waits while the cloud returns ErrPending.
func (c cloud) look(key lb.Key, deep bool) (o *lb.Observed) {
	c.t.Helper()
	err := c.retryPending(func() (err error) {
		o, err = c.Observe(c.t.Context(), key, deep)
		return err
	})
	if err != nil {
		c.t.Fatalf("observing %s: %v", key, err)
	}
	return o
}

// diff plans the steps from the observed load balancer to the one of a stage.
func (c cloud) diff(seen *lb.Observed, want lb.LoadBalancer) plan.Plan {
	want.Key = seen.Key
	return planner.Diff(seen, want, c.Capabilities(lb.Class{}))
}

// apply applies one step, and waits while the cloud returns ErrPending.
func (c cloud) apply(seen *lb.Observed, step plan.Step) plan.Result {
	c.t.Helper()
	var result plan.Result
	err := c.retryPending(func() (err error) {
		result, err = c.Apply(c.t.Context(), seen, step)
		return err
	})
	if err != nil {
		c.t.Fatalf("applying %s: %v", describe(step), err)
	}
	return result
}

// run applies a plan, and waits while the cloud returns ErrPending.
func (c cloud) run(seen *lb.Observed, want lb.LoadBalancer) {
	c.t.Helper()
	err := c.retryPending(func() error {
		_, err := providers.Run(c.t.Context(), c, seen, c.diff(seen, want), providers.Options{})
		return err
	})
	if err != nil {
		c.t.Fatalf("carrying out a plan: %v", err)
	}
}

// expectStage checks that a stage is reached: the plan has no steps, and the observed objects are
// the wanted ones.
func (c cloud) expectStage(s stage) {
	c.t.Helper()
	seen := c.observe(c.own)
	left := c.diff(seen, s.want).Steps
	for _, step := range left {
		c.t.Errorf("%s: still to do: %s", s.name, describe(step.Step))
	}
	if len(left) > 0 {
		return
	}
	want := withoutSettings(s.want)
	want.Key = c.own
	if diff := cmp.Diff(want, toLoadBalancer(seen), cmpopts.EquateEmpty(), asSaid); diff != "" {
		c.t.Errorf("%s: (-want +observed):\n%s", s.name, diff)
	}
}

// expectMembers checks that the wanted targets are registered.
func (c cloud) expectMembers(group lb.GroupID, want []lb.Target) {
	c.t.Helper()
	var healths []lb.TargetHealth
	err := c.retryPending(func() (err error) {
		healths, err = c.Targets(c.t.Context(), c.own, group)
		return err
	})
	var got []lb.Target
	for _, h := range healths {
		if h.State == lb.HealthDraining {
			continue // it has left, and finishes its requests
		}
		got = append(got, h.Target)
	}
	less := func(a, b lb.Target) bool { return a.String() < b.String() }
	if diff := cmp.Diff(want, got, cmpopts.SortSlices(less), cmpopts.EquateEmpty()); err != nil ||
		diff != "" {
		c.t.Errorf("error %v, targets (-want +got):\n%s", err, diff)
	}
}

// retryPending repeats a call while the cloud returns ErrPending. The time between tries grows.
func (c cloud) retryPending(try func() error) error {
	deadline := time.Now().Add(c.timeout)
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
		err := try()
		if !errors.Is(err, providers.ErrPending) || time.Now().After(deadline) {
			return err
		}
		if ended := pause(c.t.Context(), wait); ended != nil {
			return ended
		}
	}
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// defaultTimeout limits each operation of a cloud, and the time until a change is observed and
// listed.
const defaultTimeout = 30 * time.Minute

func describe(s plan.Step) string { return s.Op() + " " + s.ID() }

// differences returns the differences between two observations in the words of the protocol; ""
// for none. Whether a load balancer is active and a target group ready can change at any time.
func differences(want, got *lb.Observed) string {
	want, got = want.Clone(), got.Clone()
	got.Active = want.Active
	for i := range got.TargetGroups {
		g := &got.TargetGroups[i]
		if there := want.TargetGroup(g.ID); there != nil {
			g.Ready = there.Ready
		}
	}
	return strings.Join(wire.Differences(want, got), "; ")
}

// asSaid compares rules by their meaning: a cloud may return conditions in another order or case.
var asSaid = cmp.Options{
	cmp.Comparer(func(a, b []lb.Condition) bool {
		return lb.Rule{Conditions: a}.MatchKey() == lb.Rule{Conditions: b}.MatchKey()
	}),
	cmp.Comparer(func(a, b lb.Action) bool { return a.Key() == b.Key() }),
}
