package alb

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/nightly"
)

// This file has an endpoint of AWS that takes its time: it carries out one write after another.

// A programming is what it took to serve 200 Ingresses in ten groups.
type programming struct {
	took          time.Duration
	calls, writes int
}

// programAll serves 200 Ingresses in ten groups, without a rate of the operator's own. A reconcile ends after
// a limit; zero is none.
func programAll(t *testing.T, o albsim.Options, limit time.Duration) (p programming) {
	synctest.Test(t, func(t *testing.T) {
		shared := newWorld(t, o)
		shared.cloud = aws.New(aws.Options{
			Config: shared.sim.Config(), Installation: "test", VPC: albsim.VPC, Cluster: albsim.Cluster,
		})
		began := time.Now()
		var all sync.WaitGroup
		var groups []*world
		for i := range 10 {
			w := groupOf(shared, i)
			w.limit = limit
			groups = append(groups, w)
			all.Go(func() { w.goOnAfterErrors(100 * time.Hour) })
		}
		all.Wait()
		p.took = time.Since(began)
		time.Sleep(1000 * time.Hour) // what was sent is carried out
		p.calls, p.writes = shared.sim.Cost()
		for _, w := range groups { // what was kept of the cloud is true
			w.seen = nil
			if todo, _, err := w.reconcile(); err != nil || !todo.Empty() {
				t.Errorf("%s: %d steps are left, error %v", w.key, len(todo.Steps), err)
			}
		}
	})
	return p
}

// groupOf is a group of twenty Ingresses in the account of a world.
func groupOf(shared *world, number int) *world {
	w := newWorld(shared.T, albsim.Options{})
	w.sim, w.cloud = shared.sim, shared.cloud
	name := fmt.Sprintf("group-%d", number)
	w.key = lb.Key("fairlead/shop/@" + name + "/internal")
	for i := range 20 {
		service := fmt.Sprintf("%s-%d", name, i)
		w.service(service, 2)
		ing := w.serve(service, map[string]string{"/": service})
		ing.Annotations["fairlead.dev/group"] = name
	}
	return w
}

// goOnAfterErrors reconciles until there is nothing to do, as the operator does: after an error it looks
// again, with growing waits.
func (w *world) goOnAfterErrors(most time.Duration) {
	began := time.Now()
	wait, failures := 50*time.Millisecond, 0
	for time.Since(began) < most {
		rests, err := w.try()
		switch {
		case rests:
			return
		case err != nil:
			failures++
			time.Sleep(wait)
			wait = min(2*wait, time.Minute)
		default:
			wait = 50 * time.Millisecond
		}
	}
	w.Errorf("%s is not programmed after %s and %d failures", w.key, most, failures)
}

// All Ingresses are programmed, in little more time than the endpoint needs for the writes, and
// with few calls more than where it is fast. An endpoint that is slower still takes longer than the
// states of targets are remembered, so that more reads are made, and no more writes.
func TestASlowCloudIsServed(t *testing.T) {
	fast := programAll(t, albsim.Options{}, 0)
	all := []struct {
		name  string
		each  time.Duration
		reads bool // they take as long
		all   bool // reads are limited, too
		limit time.Duration
	}{
		{"half a second", time.Second / 2, false, true, 0},
		{"a second", time.Second, false, true, 0},
		{"a second, reads too", time.Second, true, true, 0},
		{"a second, and reconciles end before their plans", time.Second, false, true, 5 * time.Minute},
		{"5 s", 5 * time.Second, false, true, 0},
		{"20 s, which is longer than an attempt may take", 20 * time.Second, false, false, 0},
	}
	for _, c := range nightly.Some(t, len(all), all) {
		t.Run(c.name, func(t *testing.T) {
			slow := programAll(t, albsim.Options{Serial: func(call albsim.Call) time.Duration {
				if call.Write || c.reads {
					return c.each
				}
				return 0
			}}, c.limit)
			calls := fast.writes
			if c.reads {
				calls = slow.calls
			}
			needed := time.Duration(calls) * c.each
			t.Logf("%d calls and %d writes in %s; where the endpoint is fast %d and %d, which it needs %s for",
				slow.calls, slow.writes, slow.took, fast.calls, fast.writes, needed)
			if most := needed * 13 / 10; slow.took > most {
				t.Errorf("it takes %s, want at most %s", slow.took, most)
			}
			if slow.writes*10 > fast.writes*11 || c.all && slow.calls*10 > fast.calls*11 {
				t.Errorf("it takes %d calls and %d writes, want a tenth more than %d and %d at most",
					slow.calls, slow.writes, fast.calls, fast.writes)
			}
		})
	}
}

// An endpoint that throttles, loses answers, and is slow for a while serves all Ingresses in the end,
// with few writes more than are needed.
func TestATroubledCloudIsServed(t *testing.T) {
	needed := programAll(t, albsim.Options{}, 0).writes
	var mu sync.Mutex
	writes := 0
	got := programAll(t, albsim.Options{
		Serial: func(c albsim.Call) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case !c.Write:
				return 0
			case writes > needed/3 && writes < needed/2:
				return 25 * time.Second
			}
			return 50 * time.Millisecond
		},
		Fault: func(c albsim.Call) albsim.Fault {
			mu.Lock()
			defer mu.Unlock()
			if !c.Write {
				return albsim.NoFault
			}
			writes++
			switch {
			case writes%20 == 7:
				return albsim.Throttled
			case writes%50 == 9:
				return albsim.Unavailable
			case writes%50 == 19:
				return albsim.LostAfter
			}
			return albsim.NoFault
		},
	}, 0)
	t.Logf("%d writes in %s, and %d are needed", got.writes, got.took, needed)
	if most := time.Duration(needed/6)*25*time.Second + 15*time.Minute; got.took > most {
		t.Errorf("it takes %s, want at most %s", got.took, most)
	}
	if got.writes*100 > needed*125 { // 9 in 100 are broken
		t.Errorf("it takes %d writes, and %d are needed", got.writes, needed)
	}
}
