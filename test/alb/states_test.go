package alb

import (
	"errors"
	"slices"
	"strings"
	"testing"

	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
)

// This file puts load balancers into the states that AWS documents besides active and provisioning.

// TestAnImpairedLoadBalancerServes has AWS impair a load balancer that is new: what asks for it gets
// its address, and is told why it is impaired.
func TestAnImpairedLoadBalancerServes(t *testing.T) {
	inBubble(t, albsim.Options{Provisioning: usual().Provisioning}, func(w *world) {
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		if _, _, err := w.reconcile(); err != nil {
			t.Fatal(err)
		}
		w.sim.SetState(elb.LoadBalancerStateEnumActiveImpaired, "no free addresses in subnet-1")
		w.settle()
		if !w.seen.Active {
			t.Error("it is not active")
		}
		w.seen = nil
		todo, _, err := w.reconcile()
		if err != nil || !slices.ContainsFunc(todo.Diagnostics, func(d diag.Diagnostic) bool {
			return d.Reason == diag.Impaired && strings.Contains(d.Message, "no free addresses in subnet-1")
		}) {
			t.Errorf("it says %v (%v)", todo.Diagnostics, err)
		}
	})
}

// TestALoadBalancerThatFailsIsToldWithItsReason has the set-up of a load balancer fail.
func TestALoadBalancerThatFailsIsToldWithItsReason(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		if _, _, err := w.reconcile(); err != nil {
			t.Fatal(err)
		}
		w.sim.SetState(elb.LoadBalancerStateEnumFailed, "insufficient capacity")
		if _, _, err := w.reconcile(); err == nil || !strings.Contains(err.Error(), "insufficient capacity: delete it") {
			t.Errorf("it says: %v", err)
		}
	})
}

// TestALoadBalancerThatAnotherServiceUsesIsToldWhatToDo has AWS refuse its deletion, as it does while
// a VPC endpoint service or Global Accelerator has it.
func TestALoadBalancerThatAnotherServiceUsesIsToldWhatToDo(t *testing.T) {
	inWorld(t, func(w *world) {
		w.settle()
		w.sim.Refuse(func(in any) error {
			if _, deletes := in.(*elbapi.DeleteLoadBalancerInput); deletes {
				return albsim.Refusal("ResourceInUse", "Load balancer is currently associated with another service")
			}
			return nil
		})
		_, err := w.cloud.Apply(w.Context(), w.seen, plan.DeleteLoadBalancer{})
		if !errors.Is(err, providers.ErrPending) || !strings.Contains(err.Error(), "take away its association") {
			t.Errorf("it says: %v", err)
		}
	})
}
