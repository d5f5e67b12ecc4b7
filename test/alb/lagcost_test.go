package alb

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/nightly"
)

// This file counts what it costs that reads lag behind writes: docs/contributing/performance.md states it.

// hasty has the operator ask as soon again as it does at first and after each change, for what the
// cloud was not ready for.
func hasty(w *world) { w.patience = time.Second }

// A late is a job with what it may take where reads lag by 0, 30 seconds and two minutes: calls,
// those that write, and time.
type late struct {
	work         string
	total, write [3]int
	takes        [3]time.Duration
	do           func()
}

func TestCostWhileReadsLag(t *testing.T) {
	for _, i := range nightly.Some(t, len(lags), numbers(len(lags))) {
		lag := lags[i]
		t.Run(fmt.Sprint(lag), func(t *testing.T) {
			o := usual()
			o.Lag, o.Indexing = lag, lag
			inBubble(t, o, func(w *world) {
				hasty(w)
				for _, l := range w.latecomers() {
					time.Sleep(5 * time.Minute)
					w.sim.Forget()
					began := time.Now()
					l.do()
					w.settle()
					took := time.Since(began).Round(time.Second)
					total, write := w.sim.Cost()
					w.Logf("%-60s %3d / %3d in %s", l.work, total, write, took)
					if total > l.total[i] || write > l.write[i] || took > l.takes[i] {
						w.Errorf("%s: %d calls, %d of them writes, in %s; at most %d, %d and %s", l.work, total, write, took, l.total[i], l.write[i], l.takes[i])
					}
				}
			})
		})
	}
}

// latecomers are twenty Ingresses over TLS, what is changed of them, and their end. The second look
// is that which follows the first one of a process.
func (w *world) latecomers() []late {
	const second, minute = time.Second, time.Minute
	soon := [3]time.Duration{5 * second, 5 * second, 5 * second}
	return []late{
		{"create from nothing", [3]int{139, 200, 250}, [3]int{129, 165, 195}, [3]time.Duration{minute, 3 * minute, 7 * minute}, func() {
			twenty(w)
			for _, ing := range w.Ingresses {
				secure(w, ing.Name)
			}
		}},
		{"restart, nothing changed", [3]int{31, 31, 31}, [3]int{}, soon, func() { w.restart() }},
		{"the look again that follows", [3]int{31, 31, 31}, [3]int{}, soon, func() { w.lookAnew() }},
		{"renew two certificates", [3]int{6, 6, 6}, [3]int{6, 6, 6}, soon, func() {
			w.secret("site-03", 1, "site-03.example.com")
			w.secret("site-04", 1, "site-04.example.com")
		}},
		{"one Ingress more, its Service served already", [3]int{5, 12, 18}, [3]int{4, 12, 18}, [3]time.Duration{5 * second, 45 * second, 2*minute + 20*second}, func() {
			w.serve("site-99", map[string]string{"/": "service-0"})
			secure(w, "site-99")
		}},
		{"delete it", [3]int{4, 4, 4}, [3]int{4, 4, 4}, [3]time.Duration{minute, minute, minute}, func() { w.remove("site-99") }},
		{"point one Ingress at a new Service", [3]int{12, 26, 38}, [3]int{7, 21, 33}, [3]time.Duration{90 * second, 2 * minute, 4*minute + 20*second}, func() {
			w.service("service-new", 2)
			w.point("site-05", "service-new")
		}},
		{"delete everything", [3]int{49, 49, 49}, [3]int{45, 45, 45}, [3]time.Duration{20 * second, 20 * second, 20 * second}, func() { w.Ingresses = nil }},
	}
}

// lookAnew looks at the load balancer and at the members of its target groups again.
func (w *world) lookAnew() { w.seen, w.have = nil, map[lb.GroupID][]lb.Target{} }

// A look that does not find what was made a moment ago is repeated, and ever less often.
func TestALookThatFindsTooLittleIsRepeatedEverLessOften(t *testing.T) {
	o := usual()
	o.Lag, o.Indexing = 2*time.Minute, 2*time.Minute
	inBubble(t, o, func(w *world) {
		twenty(w)
		w.settle()
		time.Sleep(5 * time.Minute)
		w.serve("a-first", map[string]string{"/": "service-0"})
		w.settle()
		w.sim.Forget()
		began := time.Now()
		for w.seen = nil; w.seen == nil; time.Sleep(time.Second) {
			seen, err := w.cloud.Observe(w.Context(), w.key, false)
			if err == nil {
				w.seen = seen
			} else if !errors.Is(err, providers.ErrPending) {
				t.Fatal(err)
			}
		}
		looks, took := asked(w, "DescribeListeners"), time.Since(began)
		if looks < 2 || looks > 15 || took > 2*time.Minute+20*time.Second {
			t.Errorf("it is looked %d times within %s", looks, took)
		}
		if len(w.seen.Listener(80).Rules) != 21 {
			t.Errorf("in the end there are %d rules", len(w.seen.Listener(80).Rules))
		}
	})
}
