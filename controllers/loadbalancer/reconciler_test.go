package loadbalancer

import (
	"testing"

	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file tests how a reconciler is connected with others.

// What has to be confirmed is read anew. Targets are checked after each observation, unless the
// operator only plans.
func TestWhatANewReconcilerIsConnectedWith(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		r := New(Parts{Gatherer: &gather.Gatherer{}, ReadOnly: readOnly})
		if r.Unconfirmed(benchKey) {
			t.Error("a load balancer without a plan has to be confirmed")
		}
		r.doubts.confirm(plan.Plan{Key: benchKey, Steps: []plan.Planned{{Step: plan.CreateTargetGroup{}}}})
		if !r.Unconfirmed(benchKey) {
			t.Error("a plan that is to be confirmed is not known")
		}
		if checks := r.looked != nil; checks == readOnly {
			t.Errorf("of one that only plans: %t, targets are checked: %t", readOnly, checks)
		}
	}
}

// A load balancer is reconciled when another reconciler asks for it, and when the targets of a group
// come or go, which it then knows.
func TestWhatOthersHaveReconciled(t *testing.T) {
	r := New(Parts{Gatherer: &gather.Gatherer{}})
	r.observer.keep(benchKey, &lb.Observed{Key: benchKey, TargetGroups: []lb.ObservedTargetGroup{{TargetGroup: lb.TargetGroup{ID: "web"}, Ready: true}}})
	for name, do := range map[string]func(){
		"one":     func() { r.ReconcileOne(t.Context(), benchKey) },
		"targets": func() { r.SetRegistered(t.Context(), benchKey, "web", true) },
	} {
		do()
		select {
		case e := <-r.wake:
			if e.Object != benchKey {
				t.Errorf("%s: %s is reconciled", name, e.Object)
			}
		default:
			t.Errorf("%s: nothing is reconciled", name)
		}
	}
	if g := r.recall(benchKey).seen.TargetGroups[0]; !g.Registered || g.Ready {
		t.Errorf("the group is known as %+v", g)
	}
}
