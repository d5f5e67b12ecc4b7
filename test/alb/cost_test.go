package alb

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fairlead/test/albsim"
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

func TestCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, albsim.Options{Provisioning: 2 * time.Minute, Propagation: 10 * time.Second, Linger: 8 * time.Second, Health: 20 * time.Second})
		for _, c := range []struct {
			work         string
			total, write int
			do           func()
		}{
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
			{"delete everything", 30, 26, func() { w.Ingresses = nil }},
		} {
			time.Sleep(time.Minute) // for the targets to be healthy
			w.sim.Forget()
			c.do()
			w.settle()
			total, write := w.sim.Cost()
			t.Logf("%-60s %3d / %3d", c.work, total, write)
			if total > c.total || write > c.write {
				t.Errorf("%s: %d calls, %d of them writes; at most %d and %d", c.work, total, write, c.total, c.write)
				by := map[string]int{}
				for _, call := range w.sim.Calls() {
					by[call.Action+call.Error]++
				}
				t.Log(by)
			}
		}
	})
}
