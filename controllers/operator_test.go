package controllers_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
)

func TestAnIngressLives(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.serve("api", "api-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))

	w.answers("shop", "http://shop.example/", "web-1")
	shop := w.ingress("shop")
	if !slices.Contains(shop.Finalizers, "fairlead.dev/ingress") {
		t.Errorf("it is served without our finalizer: %v", shop.Finalizers)
	}
	entry := shop.Status.LoadBalancer.Ingress[0]
	if entry.Hostname == "" || !cmp.Equal(entry.Ports, []networkingv1.IngressPortStatus{{Port: 80, Protocol: "TCP"}}) {
		t.Errorf("status is %+v", entry)
	}
	w.eventually(func() error { // it is written last
		said := w.balancer("shop").Status
		programmed := meta.IsStatusConditionTrue(said.Conditions, v1alpha1.ConditionProgrammed)
		return noError(programmed && said.Address == entry.Hostname, "the LoadBalancer says %+v", said)
	})

	w.change("shop", func(i *networkingv1.Ingress) {
		i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "api"
	})
	w.answers("shop", "http://shop.example/", "api-1")

	if err := w.Delete(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	w.gone()
	w.eventually(func() error {
		err := w.Get(t.Context(), client.ObjectKeyFromObject(shop), &networkingv1.Ingress{})
		return noError(apierrors.IsNotFound(err), "the Ingress is still there: %v", err)
	})
	w.eventually(func() error {
		var list v1alpha1.LoadBalancerList
		err := w.List(t.Context(), &list, client.MatchingLabels{"fairlead.dev/scope": w.namespace})
		return noError(err == nil && len(list.Items) == 0, "%d LoadBalancers are left, %v", len(list.Items), err)
	})
}

// A backend whose pods come late, and all go again, is told to the load balancer without another
// look at it.
func TestTheFirstPodsAndTheLastCostNoLook(t *testing.T) {
	w := newWorld(t)
	w.serve("web")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.told("shop", "NoEndpoints")
	w.calm()
	looks := w.cloud.observed.Load()

	w.create(w.pod("web", "web-1"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.calm()
	pod := w.pod("web", "unused")
	pod.Name = "web-1"
	if err := w.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	w.told("shop", "NoEndpoints")
	w.calm()
	w.create(w.pod("web", "web-2"))
	w.answers("shop", "http://shop.example/", "web-2")
	w.calm()
	if n := w.cloud.observed.Load() - looks; n > 0 {
		t.Errorf("the load balancer was looked at %d times", n)
	}
}

func TestPodsComeAndGoWithoutReconcilingALoadBalancer(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.calm()
	balancer := w.balancer("shop")

	w.create(w.pod("web", "web-2"))
	w.answers("shop", "http://shop.example/", "web-2")
	first := w.pod("web", "unused")
	first.Name = "web-1"
	if err := w.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		for range 4 {
			if err := w.request(w.ingress("shop").Status.LoadBalancer.Ingress[0].IP, "http://shop.example/", "web-2"); err != nil {
				return err
			}
		}
		return nil
	})
	if diff := cmp.Diff(balancer.Status, w.balancer("shop").Status); diff != "" {
		t.Errorf("the load balancer was reconciled: %s", diff)
	}
}
