package trials_test

import (
	std "cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/trials"
)

var target = &lb.Target{Address: "192.0.2.7", Port: 8080}

// passed are the findings of a run in which all is well.
var passed = []string{
	"ok scenario/missing: in 0s", "ok scenario/create: in 0s", "ok scenario/insert: in 0s", "ok tried: ",
	"ok scenario/retarget: in 0s, which was parked until it was healthy", "ok scenario/tls: in 0s",
	"ok scenario/renewal: in 0s", "ok scenario/settings: in 0s", "ok scenario/twice: in 0s, 5 steps",
	"ok scenario/move: in 0s", "ok scenario/listed: in 0s, found by their tags after 0s", "ok scenario/delete: in 0s",
}

// made are the calls of such a run, stage by stage, sorted: some are made at once.
var made = map[string][]string{
	"before": {"lookup"},
	"1":      {"observe first"},
	"2": {
		"first create listener 80",
		"first create load balancer fairlead/prove/first/internal", "first create rule 80",
		"first create target group prove/web", "first register targets prove/web",
		"observe first", "observe first", "observe first",
	},
	"3": {
		"first await targets prove/api", "first create rule 80", "first create rule 80",
		"first create rule 80", "first create rule 80",
		"first create target group prove/api", "first delete rule 80",
		"first register targets prove/api", "observe first", "observe first",
		"observe first",
	},
	"trying": {"try first"},
	"4": {
		"first await targets prove/late", "first create rule 80",
		"first create target group prove/late", "first delete rule 80",
		"first modify rule 80", "first register targets prove/late", "observe first",
		"observe first", "observe first",
	},
	"5": {
		"first create listener 443", "first create rule 443", "first create rule 443",
		"first delete rule 80", "first delete rule 80", "first delete rule 80",
		"first delete target group prove/web", "first import certificate sha256",
		"first modify rule 80", "observe first", "observe first", "observe first",
	},
	"6": {
		"first replace certificate sha256", "observe first", "observe first",
		"observe first",
	},
	"7": {
		"first modify load balancer fairlead/prove/first/internal",
		"first modify target group prove/api", "observe first", "observe first",
		"observe first",
	},
	"8": {
		"first create rule 80", "first create rule 80", "first create rule 80",
		"first create rule 80", "first delete certificate sha256",
		"first delete certificate sha256", "first delete listener 443",
		"first delete listener 443", "first modify rule 80", "first modify rule 80",
		"observe first", "observe first", "observe first",
	},
	"9": {
		"first delete rule 80", "first delete rule 80",
		"first delete target group prove/late", "observe first", "observe first",
		"observe first", "observe second", "observe second", "observe second",
		"second create listener 80",
		"second create load balancer fairlead/prove/second/internal",
		"second create rule 80", "second create target group prove/late",
		"second register targets prove/late",
	},
	"10": {"list"},
	"11": {
		"first delete load balancer fairlead/prove/first/internal",
		"first delete target group prove/api", "observe first", "observe first",
		"observe first", "observe second", "observe second", "observe second",
		"second delete load balancer fairlead/prove/second/internal",
		"second delete target group prove/late",
	},
	"deleting": {
		"observe first", "observe first", "observe first", "observe second",
		"observe second", "observe second", "sweep", "sweep",
	},
}

// run runs a trial, and fails the test where something is there at its end and not said to be
// left.
func run(t *testing.T, c *cloud, o trials.Options) (findings, left []string) {
	t.Helper()
	found, left := trials.Run(t.Context(), c, o)
	keys, err := c.Cloud.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(left) == 0 && len(keys) > 0 {
		t.Errorf("nothing is said to be left; there is %v", keys)
	}
	return lines(found), left
}

// lines are findings, one a line.
func lines(findings []check.Finding) (out []string) {
	for _, f := range findings {
		out = append(out, fmt.Sprintf("%s %s: %s", f.State, strings.TrimPrefix(f.ID, "prove/"), f.Detail))
	}
	return out
}

func TestACloudInWhichAllIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, o := under(t, fake.Options{})
		o.Target = target
		findings, left := run(t, c, o)
		if diff := cmp.Diff(passed, findings); diff != "" || len(left) > 0 {
			t.Errorf("left is %v; findings (-want +got):\n%s", left, diff)
		}
		calls := map[string][]string{}
		for _, call := range c.calls {
			stage, what, _ := strings.Cut(call, ": ")
			calls[stage] = append(calls[stage], what)
			slices.Sort(calls[stage])
		}
		if diff := cmp.Diff(made, calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// total is how many calls such a run makes, and clearing how many of them delete what is left.
func total() (total, clearing int) {
	for _, calls := range made {
		total += len(calls)
	}
	return total, len(made["deleting"])
}

var errFault = errors.New("a fault")

// failing returns a function that answers one call with an error: the one of this number or, of calls at the same time,
// one of them.
func failing(c *cloud, n int, err error) func(context.Context, string) error {
	var failed atomic.Bool
	return func(context.Context, string) error {
		if c.number() >= n && !failed.Swap(true) {
			return err
		}
		return nil
	}
}

// A run ends with the scenario in which a call fails, says so, and deletes what it made.
func TestACallThatFailsEndsTheRun(t *testing.T) {
	total, clearing := total()
	for n := 1; n <= total; n++ {
		synctest.Test(t, func(t *testing.T) {
			c, o := under(t, fake.Options{})
			o.Target = target
			c.before = failing(c, n, errFault)
			began := time.Now()
			findings, left := run(t, c, o)
			stage, call, _ := strings.Cut(c.calls[n-1], ": ")
			if n > total-clearing {
				if diff := cmp.Diff(passed, findings); diff != "" || len(left) > 0 {
					t.Errorf("%s fails while all is deleted: %v is left; findings (-want +got):\n%s", call, left, diff)
				}
				return
			}
			want := ended(stage)
			if diff := cmp.Diff(want, states(findings)); diff != "" || len(left) > 0 {
				t.Errorf("%s fails: left is %v; findings (-want +got):\n%s", c.calls[n-1], left, diff)
			}
			if stage == "trying" {
				return
			}
			for _, f := range findings {
				if strings.HasPrefix(f, "wrong") && !strings.HasSuffix(f, "a fault") {
					t.Errorf("%s fails, and it says %s", c.calls[n-1], f)
				}
			}
			if took := time.Since(began); took != o.SweepPause && took != o.SweepPause+o.Pause {
				t.Errorf("%s fails, and it took %s", c.calls[n-1], took)
			}
		})
	}
}

// ended are the findings of a run that ends in a scenario, without their details.
func ended(stage string) (out []string) {
	if stage == "before" {
		return []string{"wrong cut-short"}
	}
	if stage == "trying" { // its findings are missing
		all := states(passed)
		return slices.DeleteFunc(all, func(f string) bool { return f == "ok tried" })
	}
	at, _ := strconv.Atoi(stage)
	n := 0
	for _, f := range states(passed) {
		state := "ok"
		if f != "ok tried" {
			n++
		}
		switch {
		case n == at:
			state = "wrong"
		case n > at:
			state = "unknown"
		}
		_, id, _ := strings.Cut(f, " ")
		if id != "tried" || n < at {
			out = append(out, state+" "+id)
		}
	}
	return append(out, "wrong cut-short")
}

// states are findings without their details.
func states(findings []string) (out []string) {
	for _, f := range findings {
		short, _, _ := strings.Cut(f, ":")
		out = append(out, short)
	}
	return out
}

// A run waits where the cloud is not ready, and makes the call again.
func TestACallThatIsNotReadyIsMadeAgain(t *testing.T) {
	total, clearing := total()
	for n := 1; n <= total-clearing; n++ {
		for _, err := range []error{providers.ErrPending, providers.ErrThrottled} {
			synctest.Test(t, func(t *testing.T) {
				c, o := under(t, fake.Options{})
				o.Target = target
				c.before = failing(c, n, err)
				began := time.Now()
				findings, left := run(t, c, o)
				if c.calls[n-1] == "trying: try first" {
					return // that is the provider's
				}
				if diff := cmp.Diff(states(passed), states(findings)); diff != "" || len(left) > 0 {
					t.Errorf("%s, %v: left is %v; findings (-want +got):\n%s", c.calls[n-1], err, left, diff)
				}
				if took := time.Since(began); took != o.SweepPause+o.Pause {
					t.Errorf("%s, %v: it took %s", c.calls[n-1], err, took)
				}
			})
		}
	}
}

// A change makes a run another one than the one in which all is well.
type change func(*testing.T, *cloud, *trials.Options)

// whenever answers calls of a name, in the stage that it begins with, with an error.
func whenever(begins string, err error) change {
	return func(_ *testing.T, c *cloud, _ *trials.Options) {
		c.before = func(_ context.Context, call string) error {
			if strings.HasPrefix(call, begins) {
				return err
			}
			return nil
		}
	}
}

// observing changes what is observed in a stage, for as long as the change lasts.
func observing(stage string, lasts time.Duration, with func(*lb.Observed)) change {
	return func(_ *testing.T, c *cloud, _ *trials.Options) {
		var began time.Time
		c.observed = func(o *lb.Observed) {
			if !c.is(stage) {
				return
			}
			if began.IsZero() {
				began = time.Now()
			}
			if time.Since(began) <= lasts {
				with(o)
			}
		}
	}
}

// listing leaves a load balancer out of lists, for a while.
func listing(lasts time.Duration, without string) change {
	return func(_ *testing.T, c *cloud, _ *trials.Options) {
		began := time.Now()
		c.listed = func(keys []lb.Key) []lb.Key {
			return slices.DeleteFunc(keys, func(k lb.Key) bool { return name(k) == without && time.Since(began) <= lasts })
		}
	}
}

func within(d time.Duration, c change) change {
	return func(t *testing.T, in *cloud, o *trials.Options) {
		o.Timeout = d
		c(t, in, o)
	}
}

// half keeps the end of a run apart from those of its pauses.
const half = time.Second / 2

func exists(o *lb.Observed)  { o.Exists = true }
func pending(o *lb.Observed) { o.Active = false }
func handle(o *lb.Observed)  { o.Handle = "another" }

// runs are runs by what is other in them.
var runs = map[string]struct {
	change change
	stage  string        // in which it ends; none: it passes
	says   string        // a finding that it has
	took   time.Duration // more than the one in which all is well
}{
	"there is nowhere to stand": {func(_ *testing.T, c *cloud, _ *trials.Options) { c.unmet = []string{"no subnet", "another"} },
		"before", "wrong cut-short: it was cut short: there is nowhere to stand: no subnet", 0},
	"the load balancer is there": {observing("1", time.Hour, exists),
		"1", "wrong scenario/missing: fairlead/prove/first/internal is there", 0},
	"its target group is there": {observing("1", time.Hour, func(o *lb.Observed) { o.TargetGroups = make([]lb.ObservedTargetGroup, 1) }),
		"1", "wrong scenario/missing: fairlead/prove/first/internal is there", 0},
	"its certificate is there": {observing("1", time.Hour, func(o *lb.Observed) { o.Certificates = make([]lb.ObservedCertificate, 1) }),
		"1", "wrong scenario/missing: fairlead/prove/first/internal is there", 0},
	"without targets": {func(_ *testing.T, _ *cloud, o *trials.Options) { o.Target = nil },
		"", "ok scenario/retarget: in 0s, without targets, so that none was parked until healthy", 0},
	"it is not active at once": {observing("2", time.Hour, pending), "", "ok scenario/create: in 0s", 0},
	"what is observed is late by a minute": {observing("2", time.Minute, handle),
		"", "ok scenario/create: in 1m1s", time.Minute + time.Second},
	"what is observed is another thing": {observing("2", time.Hour, handle),
		"2", "wrong scenario/create: what is observed is not what was kept: kept …", 3*time.Minute + time.Second},
	"time is over while it is another thing": {within(half+30*time.Second, observing("2", time.Hour, handle)),
		"2", "wrong cut-short: it was cut short: the time that was agreed on is over", half + 30*time.Second},
	"one is not listed for three minutes": {listing(3*time.Minute, "first"),
		"", "ok scenario/listed: in 3m1s, found by their tags after 3m1s", 3*time.Minute + time.Second},
	"the other one is never listed": {listing(time.Hour, "second"),
		"10", "wrong scenario/listed: after 3m1s, the keys [fairlead/prove/first/internal] are listed", 3*time.Minute + time.Second},
	"time is over while it is not listed": {within(half+time.Minute, listing(time.Hour, "second")),
		"10", "wrong cut-short: it was cut short: the time that was agreed on is over", half + time.Minute},
	"time is over while the cloud is not ready": {within(half+10*time.Second, whenever("2: observe", providers.ErrPending)),
		"2", "wrong cut-short: it was cut short: the time that was agreed on is over", half + 10*time.Second},
	"time is over while a step is not ready": {within(half+10*time.Second, whenever("8: first delete listener", providers.ErrPending)),
		"8", "wrong cut-short: it was cut short: delete listener 443, the first time: the time that was agreed on is over", half + 10*time.Second},
	"the calls are just enough": {func(_ *testing.T, _ *cloud, o *trials.Options) {
		total, clearing := total()
		o.Calls = total - clearing
	}, "", "ok scenario/delete: in 0s", 0},
	"a call is too much": {func(_ *testing.T, _ *cloud, o *trials.Options) {
		total, clearing := total()
		o.Calls = total - clearing - 1
	}, "11", "wrong scenario/delete: the calls that were agreed on are spent", 0},
	"a step panics": {func(_ *testing.T, c *cloud, _ *trials.Options) {
		c.applied = func(*lb.Observed) {
			if c.is("5") {
				panic("a fault")
			}
		}
	}, "5", "wrong cut-short: it was cut short: ", 0},
	"an observation panics": {observing("5", time.Hour, func(*lb.Observed) { panic("a fault") }),
		"panics", "wrong cut-short: it was cut short: the provider panicked: a fault", 0},
	"the second time of a step fails": {func(_ *testing.T, c *cloud, _ *trials.Options) {
		listeners := 0
		c.before = func(_ context.Context, call string) error {
			if call == "8: first delete listener 443" {
				if listeners++; listeners == 2 {
					return errFault
				}
			}
			return nil
		}
	}, "8", "wrong scenario/twice: delete listener 443, the second time: a fault", 0},
	"each step is told what is there": {func(t *testing.T, c *cloud, _ *trials.Options) {
		steps := 0
		c.applied = func(seen *lb.Observed) {
			if !c.is("8") {
				return
			}
			if steps++; steps%2 == 1 {
				there, err := c.Cloud.Observe(t.Context(), seen.Key, false)
				if diff := cmp.Diff(there, seen, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(lb.Observed{}, "Read")); err != nil || diff != "" {
					t.Errorf("step %d: error %v; what is there (-want +got):\n%s", steps, err, diff)
				}
			}
		}
	}, "", "ok scenario/twice: in 0s, 5 steps", 0},
}

// A run says what it found that is not as it has to be, and ends there.
func TestRunsSayWhatTheyFound(t *testing.T) {
	for name, c := range runs {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, o := under(t, fake.Options{})
				o.Target = target
				c.change(t, in, &o)
				began := time.Now()
				findings, left := run(t, in, o)
				want := states(passed)
				if c.stage == "panics" {
					want = slices.Concat(want[:5], []string{"wrong cut-short"})
				} else if c.stage != "" {
					want = ended(c.stage)
				}
				if strings.Contains(c.says, "the time that was agreed on is over") { // it is no fault of the cloud
					for i, f := range want {
						if strings.HasPrefix(f, "wrong scenario") {
							want[i] = strings.Replace(f, "wrong", "unknown", 1)
						}
					}
				}
				if diff := cmp.Diff(want, states(findings)); diff != "" || len(left) > 0 {
					t.Errorf("left is %v; findings (-want +got):\n%s", left, diff)
				}
				if !slices.ContainsFunc(findings, func(f string) bool { return strings.HasPrefix(f, c.says) }) {
					t.Errorf("it does not say %q but\n%s", c.says, strings.Join(findings, "\n"))
				}
				if took := time.Since(began); took != o.SweepPause+c.took {
					t.Errorf("it took %s more", took-o.SweepPause)
				}
			})
		})
	}
}

// Where the cloud takes no parking rules, a run goes on without, and counts them.
func TestParkingRulesThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, o := under(t, fake.Options{Before: func(_ lb.Key, s plan.Step) error {
			if create, is := s.(plan.CreateRule); is && plan.Parked(create.Rule) {
				return providers.ErrRejected
			}
			return nil
		}})
		o.Target = target
		findings, left := run(t, c, o)
		const says = "ok scenario/retarget: in 0s, 2 parking rules were refused, and it went on without"
		if diff := cmp.Diff(states(passed), states(findings)); diff != "" || len(left) > 0 || !slices.Contains(findings, says) {
			t.Errorf("left is %v, it says\n%s\nfindings (-want +got):\n%s", left, strings.Join(findings, "\n"), diff)
		}
	})
}

// What is there is not said to be deleted before two looks in a row found nothing.
func TestNothingIsLeftUnsaid(t *testing.T) {
	const unsure = "it is not known what else: "
	const once = "it is not known what: one look found nothing, and there was no time for another"
	hangs := func(n int) change {
		return func(_ *testing.T, c *cloud, _ *trials.Options) {
			looks := 0
			c.before = func(ctx context.Context, call string) error {
				if call == "deleting: sweep" {
					if looks++; looks == n {
						<-ctx.Done()
						return ctx.Err()
					}
				}
				return nil
			}
		}
	}
	// Lists are empty, and by its name something of the first is found for a minute.
	byName := func(with func(*lb.Observed)) change {
		return func(t *testing.T, c *cloud, _ *trials.Options) {
			c.observed = func(o *lb.Observed) {
				if c.looked() && name(o.Key) == "first" && time.Now().Before(time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)) {
					with(o)
				}
			}
		}
	}
	a, b := sweep{found: []string{"a"}}, sweep{found: []string{"b"}}
	none, fault, both := sweep{}, sweep{err: errors.New("a\n fault")}, sweep{[]string{"a"}, errFault}
	for name, c := range map[string]struct {
		sweeps   []sweep
		change   change
		clearing time.Duration // nothing: an hour
		left     []string
		took     time.Duration
	}{
		"nothing is there":        {nil, nil, 0, nil, time.Minute},
		"something is deleted":    {[]sweep{a}, nil, 0, nil, time.Minute + time.Second},
		"something comes late":    {[]sweep{none, a}, nil, 0, nil, 2*time.Minute + time.Second},
		"a look fails in between": {[]sweep{none, fault}, nil, 0, nil, 2*time.Minute + time.Second},
		"time for one look":       {nil, nil, 59 * time.Second, []string{once}, 59 * time.Second},
		"something stays":         {[]sweep{a, a, a, b}, nil, 2500 * time.Millisecond, []string{"a"}, 2500 * time.Millisecond},
		"a look fails":            {[]sweep{fault}, nil, half, []string{unsure + "a fault"}, half},
		"a look fails and finds":  {[]sweep{both}, nil, half, []string{"a", unsure + "a fault"}, half},
		"the first look hangs":    {nil, hangs(1), time.Second, []string{unsure + "context deadline exceeded"}, time.Second},
		"another look hangs":      {[]sweep{a}, hangs(2), 2 * time.Second, []string{"a"}, 2 * time.Second},
		"a name is found":         {nil, byName(exists), 0, nil, 2 * time.Minute},
		"a group is found": {nil, byName(func(o *lb.Observed) { o.TargetGroups = make([]lb.ObservedTargetGroup, 1) }), half,
			[]string{"what belongs to load balancer fairlead/prove/first/internal"}, half},
		"a name is found besides": {[]sweep{a}, byName(exists), half, []string{"a"}, half},
		"a name is not known": {nil, func(_ *testing.T, c *cloud, _ *trials.Options) {
			c.before = func(_ context.Context, call string) error {
				if c.looked() && call == "deleting: observe second" {
					return errFault
				}
				return nil
			}
		}, half, []string{unsure + "a fault"}, half},
		"a look panics": {nil, func(_ *testing.T, c *cloud, _ *trials.Options) {
			c.observed = func(*lb.Observed) {
				if c.looked() {
					panic("a fault")
				}
			}
		}, half, []string{unsure + "the provider panicked: a fault"}, half},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, o := under(t, fake.Options{})
				in.sweeps = c.sweeps
				if c.change != nil {
					c.change(t, in, &o)
				}
				o.CleanupTimeout = std.Or(c.clearing, o.CleanupTimeout)
				began := time.Now()
				left := trials.Clear(t.Context(), in, o)
				if diff := cmp.Diff(c.left, left); diff != "" {
					t.Errorf("left (-want +got):\n%s", diff)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// Deletions that fail are tried again for a while, those that are not ready for a quarter of the
// time; what they leave is swept up.
func TestDeletionsThatFail(t *testing.T) {
	for err, took := range map[error]time.Duration{
		errFault:               90 * time.Second, // pauses of 1, 2, 3 and 4 seconds, and 16 of 5
		providers.ErrPending:   15 * time.Minute,
		providers.ErrThrottled: 15 * time.Minute,
	} {
		synctest.Test(t, func(t *testing.T) {
			c, o := under(t, fake.Options{})
			o.Target = target
			c.before = func(_ context.Context, call string) error {
				switch {
				case call == "6: observe first":
					return errFault
				case strings.HasPrefix(call, "deleting: first delete"):
					return err
				}
				return nil
			}
			began := time.Now()
			findings, left := run(t, c, o)
			if diff := cmp.Diff(ended("6"), states(findings)); diff != "" || len(left) > 0 {
				t.Errorf("%v: left is %v; findings (-want +got):\n%s", err, left, diff)
			}
			if more := time.Since(began) - o.Pause - o.SweepPause; more != took {
				t.Errorf("%v: it took %s more", err, more)
			}
		})
	}
}
