package alb

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/providertest"
	"fairlead.dev/fairlead/providers/serve"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/caller"
	"fairlead.dev/fairlead/test/nightly"
)

// This file lets load balancers live, and the operator end, in accounts as AWS may be: reads lag
// behind writes. What has come of a change is judged before the operator starts again or looks
// deeply.

var (
	seed      = flag.Uint64("seed", 0, "the seed of what AWS leaves undocumented, and of where the operator ends; 0 draws one")
	realLives = flag.Int("reallives", 2, "how many load balancers live with each lag")
	realCuts  = flag.Int("realcuts", 3, "how many calls of each scenario the operator ends at, with each lag; 0 is at each of them, before it and after it")
)

// lags are how far reads lag behind writes.
var lags = []time.Duration{0, 30 * time.Second, 2 * time.Minute}

// drawn is the seed of a test, and says which it is.
func drawn(t *testing.T) uint64 {
	t.Helper()
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-seed %d", s)
	return s
}

func TestRealNoRequestEverGoesAstray(t *testing.T) {
	base := drawn(t)
	for _, lag := range nightly.Some(t, len(lags), lags) {
		for i := range *realLives {
			t.Run(fmt.Sprint(lag, " ", i), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					rng := rand.New(rand.NewPCG(base, uint64(i)))
					j := bornIn(t, i, rng, albsim.Real(base+uint64(i), lag))
					j.tally = &tally{}
					j.live(i, 12, rng)
				})
			})
		}
	}
}

// TestRealContract holds the provider to its contract.
func TestRealContract(t *testing.T) {
	base := drawn(t)
	for _, lag := range nightly.Some(t, 1, lags) {
		holdTo(t, lag, nightly.Cases(t, contractIn(base, lag, func(p providers.Provider) providers.Provider { return p })))
	}
}

// TestRealContractOverHTTP holds the provider to its contract where it is served to another
// process. What is read late does not depend on that: the longest lag is tried.
func TestRealContractOverHTTP(t *testing.T) {
	if testing.Short() {
		t.Skip("TestRealContract does the same without HTTP")
	}
	lag := lags[2]
	holdTo(t, lag, contractIn(drawn(t), lag, func(p providers.Provider) providers.Provider {
		return caller.Of(serve.New(p, serve.Options{}))
	}))
}

func holdTo(t *testing.T, lag time.Duration, clauses map[string]func(*testing.T)) {
	t.Helper()
	for name, clause := range clauses {
		t.Run(fmt.Sprint(lag, " ", name), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, clause)
		})
	}
}

// contractIn are the clauses of the contract, each for an account of its own, which is reached in
// some way.
func contractIn(seed uint64, lag time.Duration, reached func(providers.Provider) providers.Provider) map[string]func(*testing.T) {
	port := new(atomic.Int32)
	return providertest.Clauses(func(*testing.T) providers.Provider {
		o := albsim.Real(seed, lag)
		o.Authorize = operator().allow
		return reached(unhurried{aws.New(aws.Options{Config: albsim.New(o).Config(), Installation: "test", VPC: albsim.VPC, Rates: client.PublishedRates()}), lag})
	}, func(*testing.T) lb.Target {
		return lb.Target{Address: "10.0.0.9", Port: 8080 + port.Add(1)}
	})
}

// An unhurried provider takes the time after each step that AWS takes to show it: a clause compares
// what was done with what is observed right after it. What the provider reads within a step may be
// of the past.
type unhurried struct {
	*aws.Provider
	lag time.Duration
}

func (u unhurried) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	defer time.Sleep(u.lag)
	return u.Provider.Apply(ctx, seen, step)
}

func (u unhurried) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	defer time.Sleep(u.lag)
	return u.Provider.SetTargets(ctx, key, group, want)
}

// TestRealCutOff ends the operator at a few calls of each scenario, drawn anew each time, and
// judges what another one comes to, and that nothing is left behind.
func TestRealCutOff(t *testing.T) {
	if testing.Short() {
		t.Skip("it is one scenario after the other, with each lag")
	}
	base := drawn(t)
	for _, s := range scenarios() {
		for _, lag := range nightly.Some(t, 1, lags) {
			t.Run(fmt.Sprint(s.name, " ", lag), func(t *testing.T) {
				t.Parallel()
				var left map[string]int
				var calls int
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, albsim.Real(base, lag))
					calls = s.changed(w)
					w.finish()
					time.Sleep(5 * time.Minute)
					left = w.sim.Inventory()
				})
				rng := rand.New(rand.NewPCG(base, uint64(lag)))
				for _, cut := range cutsOf(2*calls, *realCuts, rng) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t, albsim.Real(base, lag))
						s.begun(w)
						var n atomic.Int64
						w.sim.Break(func(albsim.Call) albsim.Fault {
							switch at := int(n.Add(1)) - 1; {
							case at < cut/2:
								return albsim.NoFault
							case at == cut/2:
								return []albsim.Fault{albsim.LostBefore, albsim.LostAfter}[cut%2]
							}
							return albsim.LostBefore // it is dead
						})
						for range 300 {
							if rests, _ := w.try(); int(n.Load()) > cut/2 || rests && !w.goOn() {
								break
							}
						}
						w.sim.Break(nil)
						w.restart()
						w.finish()
						w.lookAgain()
						if diff := cmp.Diff(left, w.sim.Inventory()); diff != "" {
							t.Errorf("cut at call %d of %d (-uncut +cut):\n%s", cut/2, calls, diff)
						}
					})
				}
			})
		}
	}
}

// cutsOf are some of n cuts, or all of them.
func cutsOf(n, some int, rng *rand.Rand) []int {
	cuts := rng.Perm(n)
	if some > 0 {
		cuts = cuts[:min(some, n)]
	}
	return cuts
}

// lookAgain looks once more when all that was written is found, as the operator does after its
// start and after a step that failed (controllers/loadbalancer/observed.go).
func (w *world) lookAgain() {
	w.Helper()
	time.Sleep(3 * time.Minute)
	for _, key := range slices.Sorted(maps.Keys(w.Records)) {
		w.turn(key)
		w.settle()
	}
	time.Sleep(5 * time.Minute)
}

// begun makes what there is first, lets it rest, and asks for the change.
func (s scenario) begun(w *world) {
	w.Helper()
	s.from(w)
	w.settle()
	time.Sleep(5 * time.Minute)
	s.to(w)
}

// changed carries a scenario out, and returns how many calls the change took.
func (s scenario) changed(w *world) int {
	w.Helper()
	s.begun(w)
	w.sim.Forget()
	w.finish()
	calls, _ := w.sim.Cost()
	return calls
}
