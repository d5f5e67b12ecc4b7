package alb

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/nightly"
)

// This file ends the operator before and after every single call of long changes, and starts
// another one: it comes to the same end, and leaves nothing behind.

// A scenario is a change: what there is first, and what is done to it.
type scenario struct {
	name string
	from func(*world)
	to   func(*world)
}

func scenarios() []scenario {
	nothing := func(*world) {}
	few := func(w *world) {
		for i := range 4 {
			w.service(fmt.Sprintf("service-%d", i), 2)
		}
		w.serve("one", map[string]string{"/": "service-0", "/api": "service-1"})
		w.serve("two", map[string]string{"/": "service-1", "/a": "service-0", "/b": "service-2"})
		w.serve("three", map[string]string{"/": "service-2"})
	}
	return []scenario{
		{"from nothing", nothing, few},
		{"to nothing", few, func(w *world) { w.Ingresses = nil }},
		{"an Ingress more", few, func(w *world) { w.serve("four", map[string]string{"/": "service-3", "/x": "service-0"}) }},
		{"an Ingress less", few, func(w *world) { w.remove("two") }},
		{"a Service that is served already", few, func(w *world) { w.point("one", "service-2") }},
		{"a Service that is new", few, func(w *world) { w.point("two", "service-3") }},
		{"all of them exchanged", few, func(w *world) {
			w.Ingresses = nil
			w.serve("five", map[string]string{"/": "service-3", "/api": "service-0"})
			w.serve("six", map[string]string{"/": "service-1"})
		}},
		{"actions that change places", few, func(w *world) { w.point("one", "service-1"); w.point("three", "service-0") }},
		{"another port", few, func(w *world) {
			for i := range w.Ingresses {
				w.Ingresses[i] = w.Ingresses[i].DeepCopy()
				w.Ingresses[i].Annotations["fairlead.dev/listen-ports"] = `[{"HTTP":8080}]`
			}
		}},
		{"TLS, with two certificates", few, func(w *world) { secure(w, "one"); secure(w, "three") }},
		{"no TLS any more", func(w *world) { few(w); secure(w, "one"); secure(w, "three") }, func(w *world) {
			for _, name := range []string{"one", "three"} {
				w.change(name, func(ing *networkingv1.Ingress) { ing.Spec.TLS = nil })
			}
		}},
		{"another certificate for a host", func(w *world) { few(w); secure(w, "one"); secure(w, "three") }, func(w *world) {
			w.secret("one", 1, "one.example.com")
		}},
		{"a port that speaks TLS from now on, with two certificates", func(w *world) { few(w); w.annotate("listen-ports", "HTTP:443") }, func(w *world) {
			secure(w, "one")
			secure(w, "three")
			w.annotate("listen-ports", "HTTPS:443")
		}},
		{"a web ACL and a shield", func(w *world) { few(w); w.sim.AddWebACL("edge") }, func(w *world) {
			w.ask("one", "wafv2-acl", "edge")
			w.ask("two", "shield-advanced", "true")
		}},
		{"neither of them any more", func(w *world) {
			few(w)
			w.sim.AddWebACL("edge")
			w.ask("one", "wafv2-acl", "edge")
			w.ask("two", "shield-advanced", "true")
		}, func(w *world) { w.remove("one"); w.remove("two") }},
		{"another health check", few, func(w *world) {
			for i := range w.Ingresses {
				w.Ingresses[i] = w.Ingresses[i].DeepCopy()
				w.Ingresses[i].Annotations["fairlead.dev/health-check-path"] = "/healthz"
			}
		}},
		{"fewer who may connect, and others", func(w *world) { few(w); w.annotate("inbound", "10.0.0.0/8, 192.0.2.0/24") }, func(w *world) {
			w.annotate("inbound", "10.0.0.0/9, pl-0123456789abcdef0")
		}},
		{"another port, for others", func(w *world) { few(w); w.annotate("inbound", "10.0.0.0/8") }, func(w *world) {
			for i := range w.Ingresses {
				w.Ingresses[i] = w.Ingresses[i].DeepCopy()
				w.Ingresses[i].Annotations["fairlead.dev/listen-ports"] = "HTTP:8081"
			}
			w.annotate("inbound", "192.0.2.0/24")
		}},
		{"another port on the nodes", few, func(w *world) { w.annotate("health-check-port", "9000") }},
		{"security groups of the class", few, func(w *world) { w.class(func(s *spec) { s.SecurityGroups = []string{"nodes"} }) }},
		{"no security groups of the class any more", func(w *world) { few(w); w.class(func(s *spec) { s.SecurityGroups = []string{"nodes"} }) }, func(w *world) {
			w.class(func(s *spec) { s.SecurityGroups = nil })
		}},
		{"other tags of the class", func(w *world) {
			few(w)
			secure(w, "one")
			w.class(func(s *spec) { s.Tags = map[string]string{"team": "web", "stage": "one"} })
		}, func(w *world) {
			w.class(func(s *spec) { s.Tags = map[string]string{"team": "shop", "cost centre": "42"} })
		}},
		{"an Ingress moves to another load balancer", few, func(w *world) { moveOut(w, "one") }},
		{"all Ingresses move to another load balancer", few, func(w *world) { moveOut(w, "one", "two", "three") }},
	}
}

// moveOut has Ingresses ask for another group. They are served there and where they were, until
// clients have had the time to follow.
func moveOut(w *world, names ...string) {
	from := w.key
	for _, name := range names {
		w.change(name, func(ing *networkingv1.Ingress) { ing.Annotations["fairlead.dev/group"] = "other" })
	}
	w.turn("fairlead/shop/@other/internal")
	w.later = append(w.later, func() {
		for who, known := range w.Records[w.key].Members {
			known.Previous = ""
			w.Records[w.key].Members[who] = known
		}
		w.turn(from)
	})
}

// secure lets an Ingress be served over HTTPS.
func secure(w *world, name string) {
	w.secret(name, 0, name+".example.com")
	w.change(name, tls(name, name+".example.com"))
}

// usual is how AWS takes its time.
func usual() albsim.Options {
	return albsim.Options{Provisioning: 30 * time.Second, Propagation: 5 * time.Second, Linger: 8 * time.Second, Health: 10 * time.Second}
}

// ended is what a world has come to once somebody has looked deeply: a port that was left open, for
// its listener was deleted and nothing after that, costs nobody anything until then.
func ended(w *world) ([]*lb.Observed, map[string]int) {
	w.Helper()
	w.finish()
	time.Sleep(2 * time.Minute)
	w.restart()
	w.look(true)
	w.settle()
	var out []*lb.Observed
	for _, key := range slices.Sorted(maps.Keys(w.Records)) {
		seen, err := w.cloud.Observe(w.Context(), key, true)
		if err != nil {
			w.Fatal(err)
		}
		out = append(out, seen)
	}
	return out, w.sim.Inventory()
}

// content compares load balancers, whatever their parts are called and numbered.
var content = cmp.Options{
	cmpopts.EquateEmpty(),
	cmpopts.IgnoreFields(lb.Observed{}, "Handle", "Address"), cmpopts.IgnoreFields(lb.ObservedListener{}, "Handle"),
	cmpopts.IgnoreFields(lb.ObservedRule{}, "Handle", "Priority"), cmpopts.IgnoreFields(lb.ObservedTargetGroup{}, "Handle"),
	cmpopts.IgnoreFields(lb.ObservedCertificate{}, "Handle"),
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Firewall" }, cmp.Comparer(func(a, b string) bool { return (a == "") == (b == "") })),
}

func TestCutOffAtEveryCall(t *testing.T) {
	if testing.Short() {
		t.Skip("it ends the operator hundreds of times")
	}
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			var want []*lb.Observed
			var left map[string]int
			calls := 0
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, usual())
				s.from(w)
				w.settle()
				time.Sleep(time.Minute)
				w.sim.Forget()
				s.to(w)
				w.finish()
				calls, _ = w.sim.Cost()
				want, left = ended(w)
			})
			t.Logf("%d calls, cut off before and after each", calls)
			for _, cut := range nightly.Some(t, 3, numbers(2*calls)) {
				fault := []albsim.Fault{albsim.LostBefore, albsim.LostAfter}[cut%2]
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, usual())
					s.from(w)
					w.settle()
					time.Sleep(time.Minute)
					s.to(w)
					n := 0
					w.sim.Break(func(albsim.Call) albsim.Fault {
						n++
						switch {
						case n-1 < cut/2:
							return albsim.NoFault
						case n-1 == cut/2:
							return fault
						}
						return albsim.LostBefore // it is dead
					})
					for range 300 {
						rests, _ := w.try()
						if n > cut/2 {
							break
						}
						if rests && !w.goOn() {
							t.Fatalf("it has come to rest after %d calls of %d", n, calls)
						}
					}
					w.sim.Break(nil)
					w.restart()
					got, found := ended(w)
					if diff := cmp.Diff(want, got, content); diff != "" {
						t.Errorf("cut at call %d of %d, fault %d (-uncut +cut):\n%s", cut/2, calls, fault, diff)
					}
					if diff := cmp.Diff(left, found); diff != "" {
						t.Errorf("cut at call %d of %d, fault %d, the account (-uncut +cut):\n%s", cut/2, calls, fault, diff)
					}
				})
			}
		})
	}
}

// numbers are those from 0 to below n.
func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// busiest is the most calls that there are within a second.
func busiest(calls []albsim.Call) int {
	most, first := 0, 0
	for i, c := range calls {
		for c.At.Sub(calls[first].At) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// Any single answer is lost while the operator lives on: what it asks for again is understood to be
// there, so that no plan fails for it, and nothing is there twice.
func TestOneLostAnswer(t *testing.T) {
	for _, s := range nightly.Some(t, len(scenarios()), scenarios()) {
		t.Run(s.name, func(t *testing.T) {
			var want []*lb.Observed
			var left map[string]int
			calls := 0
			run := func(lost int) { // the call whose answer is lost; -1: none
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, usual())
					s.from(w)
					w.settle()
					time.Sleep(time.Minute)
					s.to(w)
					w.sim.Forget()
					n := -1
					w.sim.Break(func(albsim.Call) albsim.Fault {
						if n++; n == lost {
							return albsim.LostAfter
						}
						return albsim.NoFault
					})
					w.finish()
					w.sim.Break(nil)
					if lost < 0 {
						calls, _ = w.sim.Cost()
						want, left = ended(w)
						return
					}
					got, found := ended(w)
					if diff := cmp.Diff(want, got, content); diff != "" {
						t.Errorf("the answer to call %d is lost (-kept +lost):\n%s", lost, diff)
					}
					if diff := cmp.Diff(left, found); diff != "" {
						t.Errorf("the answer to call %d is lost, the account (-kept +lost):\n%s", lost, diff)
					}
				})
			}
			run(-1)
			for _, lost := range nightly.Some(t, 3, numbers(calls)) {
				run(lost)
			}
		})
	}
}

func TestThrottledAndLost(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, usual())
				s.from(w)
				w.settle()
				time.Sleep(time.Minute)
				s.to(w)
				rng := rand.New(rand.NewPCG(5, 5))
				w.sim.Forget()
				w.sim.Break(func(albsim.Call) albsim.Fault {
					switch n := rng.IntN(100); {
					case n < 20:
						return albsim.Throttled
					case n < 25:
						return albsim.LostAfter
					}
					return albsim.NoFault
				})
				started := time.Now()
				for range 200 {
					todo, _, err := w.reconcile()
					if err == nil && todo.Empty() && !w.goOn() {
						break
					}
					if err != nil {
						time.Sleep(time.Second)
					}
				}
				took := time.Since(started)
				calls := w.sim.Calls()
				w.sim.Break(nil)
				if todo, _, err := w.reconcile(); err != nil || !todo.Empty() {
					t.Errorf("it has not come to rest: %v, %d steps", err, len(todo.Steps))
				}
				if most := 200 + int(10*took.Seconds()); len(calls) > most {
					t.Errorf("%d calls in %s", len(calls), took)
				}
				if n := busiest(calls); n > 60 {
					t.Errorf("%d calls within a second", n)
				}
			})
		})
	}
}
