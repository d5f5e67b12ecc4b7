package alb

import (
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/test/albsim"
)

// This file takes everything away that a load balancer is there for, in each of the ways there are:
// one that is protected from being deleted stays, whole, and nobody tries.

// protect has the class protect its load balancers, or not.
func (w *world) protect(on string) {
	w.class(func(s *spec) { s.Attributes = map[string]string{"deletion_protection.enabled": on} })
}

// stays expects a load balancer to be as it was, said so, and that nobody tried to delete it.
func (w *world) stays(before map[string]int) {
	w.Helper()
	w.sim.Forget()
	for range 3 {
		w.restart() // whoever comes knows it
		todo, _, err := w.reconcile()
		if err != nil || !todo.Empty() {
			w.Errorf("error %v, to do: %v", err, todo.Print())
		}
		if len(todo.Diagnostics) != 1 || todo.Diagnostics[0].Reason != diag.Protected {
			w.Errorf("told: %v", todo.Diagnostics)
		}
		time.Sleep(time.Minute)
	}
	if _, writes := w.sim.Cost(); writes > 0 {
		w.Errorf("%d writes: %v", writes, w.sim.Calls())
	}
	if diff := cmp.Diff(before, w.sim.Inventory()); diff != "" {
		w.Errorf("it is not as it was (-before +after):\n%s", diff)
	}
}

func TestAProtectedLoadBalancerStays(t *testing.T) {
	for name, take := range map[string]func(w *world){
		"its last Ingress is deleted": func(w *world) { w.Ingresses = nil },
		"its last Ingress moves to another scheme": func(w *world) {
			w.change("site", func(ing *networkingv1.Ingress) { ing.Annotations["fairlead.dev/scheme"] = "internet-facing" })
			w.Records = nil // clients have followed
		},
		"its last Ingress moves to another group": func(w *world) { w.ask("site", "group", "other"); w.Records = nil },
		"its last Ingress is wrong, and no good version is remembered": func(w *world) {
			w.ask("site", "scheme", "wide open")
			w.Records = nil
		},
		"nobody knows it any more": func(w *world) {
			w.Ingresses, w.Records = nil, nil
			w.restart()
			keys, err := w.cloud.List(w.Context())
			if err != nil || len(keys) != 1 {
				w.Fatalf("error %v, orphans %v", err, keys)
			}
			w.key = keys[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.protect("true")
				w.settle()
				before := w.sim.Inventory()
				take(w)
				w.stays(before)
				if a := w.request("site"); len(a.Forward) == 0 {
					t.Errorf("it answers %+v", a)
				}

				w.protect("false")
				time.Sleep(2 * time.Minute)
				w.settle()
				if left := w.sim.Inventory(); left["load balancers"]+left["target groups"] > 0 {
					t.Errorf("left, though it is not protected any more: %v", left)
				}
			})
		})
	}
}

func TestAMemberLeavesAProtectedLoadBalancer(t *testing.T) {
	inWorld(t, func(w *world) {
		w.protect("true")
		w.service("api", 1)
		w.serve("more", map[string]string{"/": "api"})
		w.settle()
		w.remove("more")
		time.Sleep(2 * time.Minute)
		w.settle()
		if left := w.sim.Inventory(); left["target groups"] != 1 || left["rules"] != 1 {
			t.Errorf("left of it: %v", left)
		}
		w.rests("it has left")
	})
}

func TestAChangeOfTheClassIsEnoughToLetGo(t *testing.T) {
	for name, lift := range map[string]func(*spec){
		"it says nothing any more": func(s *spec) { s.Attributes = nil },
		"it says false":            func(s *spec) { s.Attributes["deletion_protection.enabled"] = "false" },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.protect("true")
				w.settle()
				w.Ingresses = nil
				w.class(lift) // at the same moment
				w.restart()
				w.settle()
				if left := w.sim.Inventory(); left["load balancers"] > 0 {
					t.Errorf("left: %v", left)
				}
			})
		})
	}
}

// TestSomebodyElseProtectsALoadBalancer has AWS refuse once, of which nobody could know.
func TestSomebodyElseProtectsALoadBalancer(t *testing.T) {
	inWorld(t, func(w *world) {
		w.settle()
		protect := func(on string) {
			w.elsewhere(func(api *elbapi.Client) error {
				_, err := api.ModifyLoadBalancerAttributes(w.Context(), &elbapi.ModifyLoadBalancerAttributesInput{
					LoadBalancerArn: sdk.String(w.seen.Handle), Attributes: []elb.LoadBalancerAttribute{{Key: sdk.String("deletion_protection.enabled"), Value: sdk.String(on)}},
				})
				return err
			})
		}
		protect("true")
		before := w.sim.Inventory()
		w.Ingresses = nil
		w.sim.Forget()
		for i := range 5 {
			todo, _, err := w.reconcile()
			if refused := err != nil && strings.Contains(err.Error(), "deletion protection is enabled"); refused != (i == 0) {
				t.Errorf("time %d: error %v", i, err)
			}
			if said := slices.ContainsFunc(todo.Diagnostics, func(d diag.Diagnostic) bool { return d.Reason == diag.Protected }); said != (i > 0) {
				t.Errorf("time %d: told %v", i, todo.Diagnostics)
			}
			w.seen = nil // which does not keep anybody from knowing it
		}
		if n := len(slices.DeleteFunc(w.sim.Calls(), func(c albsim.Call) bool { return c.Action != "DeleteLoadBalancer" })); n != 1 {
			t.Errorf("AWS was asked to delete it %d times", n)
		}
		if diff := cmp.Diff(before, w.sim.Inventory()); diff != "" {
			t.Errorf("it is not as it was (-before +after):\n%s", diff)
		}
		_, _, _ = w.reconcile()
		protect("false")
		w.seen = nil
		time.Sleep(2 * time.Minute)
		w.settle()
		if left := w.sim.Inventory(); left["load balancers"]+left["target groups"] > 0 {
			t.Errorf("left: %v", left)
		}
	})
}
