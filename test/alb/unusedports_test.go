package alb

import (
	"errors"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
)

// This file looks at the ports on which nodes admit load balancers, once no target has them any
// more.

// onPort has the pods of a Service listen on another port.
func (w *world) onPort(service string, port int32) {
	w.Helper()
	for i, s := range w.EndpointSlices {
		if s.Name == service {
			w.EndpointSlices[i] = s.DeepCopy()
			w.EndpointSlices[i].Ports = []discoveryv1.EndpointPort{{Port: &port, Protocol: s.Ports[0].Protocol}}
		}
	}
}

// admits expects the ports on which nodes admit load balancers.
func (w *world) admits(when string, want ...string) {
	w.Helper()
	for i := range want {
		want[i] += " shared"
	}
	w.expectFences(when, map[string][]string{"firewall": everybody, "shared": {}, "nodes": want})
}

// inPortsWorld tests with two Services, on ports of their own.
func inPortsWorld(t *testing.T, test func(w *world)) {
	inWorld(t, func(w *world) {
		w.service("old", 2)
		w.onPort("old", 9090)
		w.serve("old", map[string]string{"/": "old"})
		w.settle()
		w.admits("at first", "8080", "9090")
		test(w)
	})
}

func TestPortsThatNoTargetHasAnyMoreAreShut(t *testing.T) {
	for reason, change := range map[string]func(w *world){
		"a Service is gone":            func(w *world) { w.Services = w.Services[:1] },
		"it has no pods":               func(w *world) { w.service("old", 0) },
		"its pods have another port":   func(w *world) { w.onPort("old", 8080) },
		"what asked for it is gone":    func(w *world) { w.remove("old") },
		"the pods go one by one":       func(w *world) { w.service("old", 1); w.onPort("old", 9090); w.settle(); w.service("old", 0) },
		"and the operator starts anew": func(w *world) { w.restart(); w.settle(); w.service("old", 0) },
	} {
		t.Run(reason, func(t *testing.T) {
			inPortsWorld(t, func(w *world) {
				change(w)
				w.settle()
				time.Sleep(50 * time.Minute)
				w.service("web", 2)
				w.settle()
				w.admits("while targets may be draining", "8080", "9090")
				time.Sleep(20 * time.Minute)
				w.service("web", 1)
				w.settle()
				w.admits("after that", "8080")
				w.sim.Forget()
				time.Sleep(2 * time.Hour)
				w.service("web", 2)
				w.settle()
				if total, writes := w.sim.Cost(); writes != 1 || total > 2 {
					t.Errorf("a change costs %d calls, %d of them writes: %v", total, writes, w.sim.Calls())
				}
			})
		})
	}
}

// TestPortsThatAreInUseStayOpen lets go of a port that others have, or are about to have.
func TestPortsThatAreInUseStayOpen(t *testing.T) {
	const key = "fairlead/shop/@other/internal"
	for reason, use := range map[string]func(w *world){
		"by a load balancer that this process has not looked at": func(w *world) {
			w.service("late", 1)
			w.onPort("late", 9090)
			w.serve("late", map[string]string{"/": "late"}).Annotations["fairlead.dev/group"] = "other"
			other := *w
			other.turn(key) // a process of its own
			other.settle()
		},
		"by a health check": func(w *world) {
			w.annotate("health-check-port", "9090")
			w.settle()
		},
		"by a target that comes back meanwhile": func(w *world) {
			back := false
			w.sim.Watch(func(c albsim.Call) {
				if c.Action == "DescribeSecurityGroups" && !back { // it has been read what is in use
					back = true
					w.again("old")
				}
			})
			w.Cleanup(func() {
				if !back {
					w.Error("it was not looked at what is in use")
				}
			})
		},
	} {
		t.Run(reason, func(t *testing.T) {
			inPortsWorld(t, func(w *world) {
				w.service("old", 0)
				w.settle()
				use(w)
				time.Sleep(2 * time.Hour)
				w.service("web", 2)
				w.settle()
				found := w.fences()["nodes"]
				if len(found) != 2 || found[1] != "9090 shared" {
					t.Errorf("the nodes admit %v", found)
				}
			})
		})
	}
}

// again registers the pods of a Service.
func (w *world) again(service string) {
	w.Helper()
	if err := w.register(service); err != nil {
		w.Error(err)
	}
}

func (w *world) register(service string) error {
	id := lb.GroupID("shop/" + service + ":80")
	return w.cloud.SetTargets(w.Context(), w.key, id, []lb.Target{{Address: "10.22.0.1", Port: 9090}})
}

// TestWhoNeedsAPortThatIsBeingShutWaits comes back while AWS is asked to shut it.
func TestWhoNeedsAPortThatIsBeingShutWaits(t *testing.T) {
	inPortsWorld(t, func(w *world) {
		w.service("old", 0)
		w.settle()
		time.Sleep(2 * time.Hour)
		asked := false
		w.sim.Watch(func(c albsim.Call) {
			if c.Action == "RevokeSecurityGroupIngress" {
				asked = true
				if err := w.register("old"); !errors.Is(err, providers.ErrPending) {
					t.Errorf("who needs the port meanwhile gets: %v", err)
				}
			}
		})
		w.service("web", 2)
		w.settle()
		w.sim.Watch(nil)
		if !asked {
			t.Error("nothing was shut")
		}
		w.admits("when nobody needs it", "8080")
		w.again("old")
		w.admits("when somebody does again", "8080", "9090")
	})
}
