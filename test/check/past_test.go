package check

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/trials"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/nightly"
)

var seed = flag.Uint64("seed", 0, "which earlier states reads show; 0 draws a `number`")

// An account whose reads show an earlier state, and where things take their time, is proved as any
// other, and nothing is left in it. Where all reads may be two minutes old, the time that is agreed
// on may end before the run, and that is all that is wrong.
func TestProveWhereReadsAreOfThePast(t *testing.T) {
	base := *seed
	if base == 0 {
		base = rand.Uint64()
	}
	t.Logf("-seed %d", base)
	for _, lag := range []time.Duration{30 * time.Second, 2 * time.Minute} {
		for i := range uint64(nightly.Times(4)) {
			t.Run(fmt.Sprint(lag, " ", base+i), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { provedIn(t, albsim.Real(base+i, lag), false) })
			})
			t.Run(fmt.Sprint("a takeover ", lag, " ", base+i), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { provedIn(t, albsim.Real(base+i, lag), true) })
			})
		}
	}
}

// provedIn proves an account as the command line does.
func provedIn(t *testing.T, o albsim.Options, adopt bool) {
	t.Helper()
	if o.Authorize = allowing(t, nil); adopt {
		// Names of others take more rights, and who takes load balancers over has had some.
		o.Authorize, o.TagsAside, o.FirstUse = nil, false, false
	}
	o.Respelt, o.Limits = false, albsim.Limits{} // what a trial names is not what it should find here
	sim := albsim.New(o)
	before := sim.Inventory()
	cloud := aws.New(aws.Options{
		Config: sim.Config(), VPC: albsim.VPC, Installation: trials.Prefix + "test", Rates: client.PublishedRates(),
	})
	findings, left := trials.Run(t.Context(), cloud, trials.Options{Adopt: adopt, ReadLag: o.Lag + time.Second,
		Calls: 1500, CallsMade: func() int { total, _ := sim.Cost(); return total }, Timeout: 40 * time.Minute,
		CleanupTimeout: 15 * time.Minute, Pause: 5 * time.Second, SweepPause: 15 * time.Second, OnProgress: func(string) {},
	})
	for _, f := range findings {
		if f.State == check.Wrong && (f.ID != "prove/cut-short" || o.Lag < time.Minute) {
			t.Errorf("%s: %s: %s", f.ID, f.Title, f.Detail)
		}
	}
	if len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	time.Sleep(time.Hour)
	if diff := cmp.Diff(before, sim.Inventory()); diff != "" {
		t.Errorf("what there is (-before +after):\n%s", diff)
	}
	total, _ := sim.Cost()
	t.Logf("%d calls", total)
}
