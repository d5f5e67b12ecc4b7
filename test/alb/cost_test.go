package alb

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file counts calls: what the same work costs each time.

// twenty Ingresses in a group, each with a host of its own and four paths to a Service of its own.
func twenty(w *world) {
	for i := range 20 {
		service := fmt.Sprintf("service-%d", i)
		w.service(service, 2)
		w.serve(fmt.Sprintf("site-%02d", i), map[string]string{"/": service, "/api": service, "/img": service, "/static": service})
	}
}

// A job is work, and how many calls it may take at most, and how many of them that write.
type job struct {
	work         string
	total, write int
	do           func()
}

// costs does a job, when targets have had the time to be healthy, and counts.
func (w *world) costs(j job) {
	w.Helper()
	time.Sleep(time.Minute)
	w.sim.Forget()
	j.do()
	w.settle()
	total, write := w.sim.Cost()
	w.Logf("%-60s %3d / %3d", j.work, total, write)
	if total > j.total || write > j.write {
		w.Errorf("%s: %d calls, %d of them writes; at most %d and %d", j.work, total, write, j.total, j.write)
		by := map[string]int{}
		for _, call := range w.sim.Calls() {
			by[call.Action+call.Error]++
		}
		w.Log(by)
	}
}

func TestCost(t *testing.T) {
	inBubble(t, albsim.Options{Provisioning: 2 * time.Minute, Propagation: 10 * time.Second, Linger: 8 * time.Second, Health: 20 * time.Second}, func(w *world) {
		for _, j := range []job{
			{"create from nothing", 85, 68, func() { twenty(w) }},
			{"restart, nothing changed", 31, 0, func() { w.restart() }},
			{"periodic resync", 0, 0, func() {}},
			{"insert an Ingress that sorts first, Service already served", 2, 1, func() {
				w.serve("a-first", map[string]string{"/": "service-0"})
			}},
			{"delete it", 2, 1, func() { w.remove("a-first") }},
			{"point one Ingress at a Service already served", 3, 2, func() {
				for i := range w.Ingresses[3].Spec.Rules[0].HTTP.Paths {
					w.Ingresses[3].Spec.Rules[0].HTTP.Paths[i].Backend.Service.Name = "service-4"
				}
			}},
			{"point one Ingress at a new Service", 12, 7, func() {
				w.service("service-new", 2)
				for i := range w.Ingresses[5].Spec.Rules[0].HTTP.Paths {
					w.Ingresses[5].Spec.Rules[0].HTTP.Paths[i].Backend.Service.Name = "service-new"
				}
			}},
			{"scale a Service from 2 to 12 pods", 3, 1, func() { w.service("service-7", 12) }},
			{"a member with a bad annotation", 0, 0, func() {
				w.change("site-07", func(ing *networkingv1.Ingress) {
					ing.Annotations["fairlead.dev/health-check-interval-seconds"] = "often"
				})
			}},
			{"a good one behind it", 2, 1, func() { w.serve("z-last", map[string]string{"/": "service-1"}) }},
			{"delete everything", 30, 26, func() { w.Ingresses = nil }},
		} {
			w.costs(j)
			if j.work == "a good one behind it" {
				time.Sleep(time.Minute) // for the rule to be deployed
				answer := w.sim.Ask(w.seen.Address.Hostname, matching.Request{Port: 80, Host: "z-last.example.com", Path: "/"}, matching.Reading{})
				if len(answer.Forward) == 0 {
					t.Errorf("%s is not served: %+v", j.work, answer)
				}
			}
		}
	})
}

// While the index of tags lacks all that was made, a process that knows nothing of it asks for the
// firewall, the tags of target groups and those of each certificate that is served. A process that
// made all of it two minutes ago asks for nothing.
func TestCostWhileTheIndexLags(t *testing.T) {
	o := usual()
	o.Indexing = 10 * time.Hour
	inBubble(t, o, func(w *world) {
		for _, j := range []job{
			{"create from nothing", 139, 129, func() {
				twenty(w)
				for _, ing := range w.Ingresses {
					secure(w, ing.Name)
				}
			}},
			{"the same process looks again", 31, 0, func() { w.seen = nil }},
			{"restart, nothing changed", 52, 0, func() { w.restart() }},
			{"the same process looks again", 31, 0, func() { w.seen = nil }},
			{"delete everything", 49, 45, func() { w.Ingresses = nil }},
		} {
			w.costs(j)
		}
		if there := w.sim.Inventory(); there["certificates"]+there["target groups"]+there["security groups"] != 1 {
			t.Errorf("there are %v, and there should be the group of the nodes alone", there)
		}
	})
}

// The same with a Secret for each host: each certificate is imported and shown, and costs nothing
// at a start.
func TestCostOverTLS(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		for _, j := range []job{
			{"create from nothing", 139, 129, func() {
				twenty(w)
				for _, ing := range w.Ingresses {
					secure(w, ing.Name)
				}
			}},
			{"restart, nothing changed", 31, 0, func() { w.restart() }},
			{"periodic resync", 0, 0, func() {}},
			{"renew two certificates", 6, 6, func() {
				w.secret("site-03", 1, "site-03.example.com")
				w.secret("site-04", 1, "site-04.example.com")
			}},
			{"one Ingress more, Service already served", 5, 4, func() {
				w.serve("site-99", map[string]string{"/": "service-0"})
				secure(w, "site-99")
			}},
			{"delete it", 4, 4, func() { w.remove("site-99") }},
			{"delete everything", 49, 45, func() { w.Ingresses = nil }},
		} {
			w.costs(j)
		}
	})
}

// What one change costs does not depend on how many rules there are, and what a restart costs only
// on how many target groups, not on how many certificates.
func TestCostDoesNotGrow(t *testing.T) {
	for rules, certificates := range map[int]int{20: 10, 100: 1 + lb.ALB().Certificates, 1000: 0} {
		if testing.Short() && rules == 1000 {
			continue
		}
		t.Run(fmt.Sprint(rules), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				services := min(rules, lb.ALB().TargetGroups)
				w := newWorld(t, albsim.Options{Limits: albsim.Limits{RulesPerLoadBalancer: 2000}})
				for i := range services {
					w.service(fmt.Sprintf("service-%d", i), 2)
				}
				for i := range rules {
					name := fmt.Sprintf("site-%04d", i)
					w.serve(name, map[string]string{"/": fmt.Sprintf("service-%d", i)})
					if i >= services { // an answer of its own, so that no other rule can say it too
						w.backendNamed(name, v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{StatusCode: 200, Body: name}})
						w.change(name, func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].HTTP.Paths[0].Backend = toResource(name) })
					}
					if i < certificates {
						secure(w, name)
					}
				}
				w.settle()
				if n := len(w.seen.Listener(80).Rules); n != rules {
					t.Fatalf("%d rules", n)
				}
				for _, j := range []job{
					{"a restart", 11 + services, 0, w.restart},
					{"an Ingress that sorts first", 1, 1, func() { w.serve("a-first", map[string]string{"/": "service-0"}) }},
					{"another Service", 2, 2, func() { w.point(fmt.Sprintf("site-%04d", services-1), "service-0") }},
					{"one less", 1, 1, func() { w.remove("a-first") }},
				} {
					w.costs(j)
				}
			})
		})
	}
}
