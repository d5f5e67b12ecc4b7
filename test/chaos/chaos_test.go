// Package chaos runs two replicas of the operator as processes, on a real API server and against
// albsim, and lets random faults happen to them while objects change. A judge asks the data plane
// all the while.
//
//	chaos_test.go    the run: rounds of faults, what has to be so after each, and at the end
//	world_test.go    the cluster, the account, and what is in both
//	replica_test.go  a replica of the operator
//	link_test.go     the connections of a replica, which can be cut
//	faults_test.go   what goes wrong
//	aim_test.go      pauses in the middle of a plan
//	releases_test.go Ingresses that are let go of
//	changes_test.go  what is asked for meanwhile
//	history_test.go  which versions of the objects were accepted
//	judge_test.go    what requests may be answered
//
// A run is drawn from a seed, which it prints: the same seed draws the same faults and changes
// again, though not to the millisecond.
package chaos

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/test/kube"
)

var (
	seed  = flag.Uint64("seed", 0, "the `seed` of the faults; 0 draws one")
	lasts = flag.Duration("chaos", 20*time.Second, "how long rounds of faults begin")
	tells = flag.Bool("tell", false, "say what was done and what replicas said, also of a run without a failure")
	bound = flag.Duration("bound", 2*time.Minute, "how long after the last fault everything has to be right")
)

// fixed is the seed that each run of the tests begins with.
const fixed = 12

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // of the test's own client
	kube.Main(m, kube.Options{})
}

// TestChaos runs the seed that was asked for; without one, a fixed seed and a new one.
func TestChaos(t *testing.T) {
	seeds := []uint64{*seed}
	if *seed == 0 {
		seeds = []uint64{fixed, rand.Uint64()}
		if *lasts > time.Minute {
			seeds = seeds[1:] // a long run needs no fixed one
		}
	}
	for _, s := range seeds {
		t.Run("", func(t *testing.T) {
			t.Parallel() // they wait, most of the time
			t.Logf("-seed %d -chaos %s", s, *lasts)
			newWorld(t, s).run(t)
		})
	}
}

// run has rounds of faults until the time is over, and takes everything away.
func (w *world) run(t *testing.T) {
	w.settle(t, "before the first fault")
	for until := time.Now().Add(*lasts); time.Now().Before(until) && !t.Failed(); {
		w.round(t)
	}
	if !t.Failed() {
		w.removeAll(t)
		w.settle(t, "after all was deleted")
	}
	w.tally(t)
	if t.Failed() || *tells {
		w.tell(t)
	}
}

// hold is how long everything has to stay right once it is: longer than it takes a replica to find
// out that it lost the lease.
const hold = 4 * time.Second

// round lets faults happen for some seconds, ends them, and waits until everything is right. A
// replica that is still paused goes on only then: it may change nothing.
func (w *world) round(t *testing.T) {
	w.rounds++
	if w.rounds%4 == 0 {
		w.removeAllWhileAway(t)
	}
	for _, e := range w.drawRound() {
		time.Sleep(time.Until(e.at))
		e.do(t)
	}
	w.restore(t)
	w.settle(t, "after a round of faults")
	after := w.goOn(t)
	time.Sleep(hold)
	after()
	w.judge.report(t)
}
