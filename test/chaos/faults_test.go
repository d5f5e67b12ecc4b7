package chaos

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/test/albsim"
)

// This file is what goes wrong, and how it ends.

// An event is something that happens at a time.
type event struct {
	at time.Time
	do func(*testing.T)
}

// during is how long faults and changes begin in a round.
const during = 5 * time.Second

// drawRound draws some changes and some faults, in order.
func (w *world) drawRound() (out []event) {
	begun := time.Now()
	for range 3 + w.rng.IntN(8) {
		out = append(out, event{begun.Add(w.drawTime(during)), w.change})
	}
	for range 1 + w.rng.IntN(4) {
		out = append(out, w.drawFault(begun.Add(w.drawTime(during)))...)
	}
	slices.SortStableFunc(out, func(a, b event) int { return a.at.Compare(b.at) })
	return out
}

func (w *world) drawTime(most time.Duration) time.Duration {
	return time.Duration(w.rng.Int64N(int64(most)))
}

// A fault happens to a replica, or to all there is, and is over some time later.
type fault struct {
	what, over string
	begin, end func(*testing.T, *world, *replica) // without an end it is over when the round is, or later
}

// links has a replica's links become something.
func links(api, cloud state) func(*testing.T, *world, *replica) {
	return func(_ *testing.T, _ *world, r *replica) {
		r.api.set(api)
		r.cloud.set(cloud)
	}
}

// breaks has calls of the cloud break, one of so many.
func breaks(how albsim.Fault, oneOf int) func(*testing.T, *world, *replica) {
	return func(_ *testing.T, w *world, _ *replica) {
		rng := rand.New(rand.NewPCG(w.rng.Uint64(), 0))
		w.sim.Break(func(albsim.Call) albsim.Fault { // is called by one at a time
			if rng.IntN(oneOf) == 0 {
				return how
			}
			return albsim.NoFault
		})
	}
}

func kill(_ *testing.T, _ *world, r *replica)   { r.kill() }
func pause(t *testing.T, _ *world, r *replica)  { t.Helper(); r.pause(t) }
func start(t *testing.T, _ *world, r *replica)  { t.Helper(); r.start(t) }
func resume(t *testing.T, _ *world, r *replica) { t.Helper(); r.resume(t) }
func mend(_ *testing.T, w *world, _ *replica)   { w.sim.Break(nil) }

// faults are what goes wrong, each as likely as the others.
var faults = []fault{
	{"is killed", "starts again", kill, start},
	{"is killed", "starts again", kill, start},
	{"is paused", "goes on", pause, resume},
	{"is paused, until all is right", "", pause, nil},
	{"is paused, until all is right", "", pause, nil},
	{"and all others: the one at work is paused in a plan, until all is right", "", pauseInPlan, nil},
	{"and all others: the one at work is paused in a plan, until all is right", "", pauseInPlan, nil},
	{"does not reach the API server", "reaches it again", links(away, passing), links(passing, passing)},
	{"gets no answer from the API server", "gets answers again", links(silent, passing), links(passing, passing)},
	{"does not reach the cloud", "reaches it again", links(passing, away), links(passing, passing)},
	{"gets no answer from the cloud", "gets answers again", links(passing, silent), links(passing, passing)},
	{"reaches nothing", "reaches all again", links(away, away), links(passing, passing)},
	{"and all others are throttled", "are throttled no more", breaks(albsim.Throttled, 2), mend},
	{"and all others find the cloud unavailable", "find it available", breaks(albsim.Unavailable, 3), mend},
	{"and all others lose calls", "lose no more", breaks(albsim.LostBefore, 3), mend},
	{"and all others lose answers", "lose no more", breaks(albsim.LostAfter, 3), mend},
	{"sees an Ingress taken by force", "", func(t *testing.T, w *world, _ *replica) { t.Helper(); w.take(t) }, nil},
}

// drawFault draws a fault and when it is over. It happens to the leader more often than to the
// other one.
func (w *world) drawFault(at time.Time) []event {
	f, leads := faults[w.rng.IntN(len(faults))], w.rng.IntN(3) > 0
	w.kinds[f.what]++
	var r *replica
	out := []event{{at, func(t *testing.T) {
		t.Helper()
		at := w.leader()
		if !leads {
			at = 1 - at
		}
		r = w.replicas[at]
		w.note("replica %s %s", r.name, f.what)
		f.begin(t, w, r)
	}}}
	if f.end != nil {
		over := at.Add(500*time.Millisecond + w.drawTime(6*time.Second)) // a lease lasts for 3 s
		out = append(out, event{over, func(t *testing.T) {
			t.Helper()
			w.note("replica %s %s", r.name, f.over)
			f.end(t, w, r)
		}})
	}
	return out
}

// take deletes an Ingress and its finalizers at once, as people do whose namespace hangs. It comes
// back with the round's end.
func (w *world) take(t *testing.T) {
	t.Helper()
	sites := w.history.now()
	if len(sites) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(sites))
	name := names[w.rng.IntN(len(names))]
	if _, gone := w.taken[name]; gone {
		return
	}
	w.taken[name] = sites[name]
	w.note("%s is taken by force", name)
	w.history.accept(name, site{group: sites[name].group})
	o := &networkingv1.Ingress{}
	o.Namespace, o.Name = w.namespace, name
	w.unmark(t, o)
	if err := w.Delete(t.Context(), o); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(o), o); err == nil {
		w.unmark(t, o) // the operator was faster, and may believe that it was deleted like others
		return
	}
	w.history.withdraw(name) // it has vanished, and is served on
}

// unmark takes all finalizers from an Ingress.
func (w *world) unmark(t *testing.T, o *networkingv1.Ingress) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := w.Patch(t.Context(), o, patch); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

// restore ends all faults. A replica that is paused stays so, as long as there is another one.
func (w *world) restore(t *testing.T) {
	t.Helper()
	w.sim.Break(nil)
	for _, r := range w.replicas {
		r.api.set(passing)
		r.cloud.set(passing)
		r.start(t)
	}
	if w.replicas[0].paused && w.replicas[1].paused {
		w.replicas[w.rng.IntN(2)].resume(t)
	}
	for _, name := range slices.Sorted(maps.Keys(w.taken)) {
		w.note("%s comes back", name)
		w.history.accept(name, w.taken[name])
		w.makeObject(t, name, w.taken[name])
	}
	clear(w.taken)
}

// removeAllWhileAway deletes all Ingresses while the cloud takes no change, for longer than a call
// with its attempts lasts. None of them may be let go of meanwhile.
func (w *world) removeAllWhileAway(t *testing.T) {
	t.Helper()
	w.sim.Break(func(c albsim.Call) albsim.Fault {
		if c.Write {
			return albsim.Unavailable
		}
		return albsim.NoFault
	})
	w.removeAll(t)
	time.Sleep(8 * time.Second)
	w.sim.Break(nil)
}
