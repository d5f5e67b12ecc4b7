package controllers_test

import (
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/providers"
)

func TestASickBackendTakesOverOnceItWasWaitedFor(t *testing.T) {
	const limit = 3 * time.Second
	w := newWorld(t)
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{WarmTimeout: &metav1.Duration{Duration: limit}})
	w.serve("web", "web-1")
	w.serve("sick")
	sick := w.pod("sick", "sick-1")
	sick.Ports[0].Port = new(int32(1)) // where nobody answers
	w.create(sick, w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")

	changed := time.Now()
	w.change("shop", func(i *networkingv1.Ingress) {
		i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "sick"
	})
	w.answers("shop", "http://shop.example/", "502")
	if waited := time.Since(changed); waited < limit {
		t.Errorf("it took over after %s, want %s", waited, limit)
	}
}

// A plan that waits, and a load balancer that is being set up, are as they were seen: nobody looks at all
// of it again.
func TestWhatOnlyTakesTimeIsNotLookedAtAgain(t *testing.T) {
	w := newWorld(t)
	w.cloud.inactive.Store(2)
	w.serve("web", "web-1")
	w.serve("next", "next-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	if n := w.cloud.inactive.Load(); n != 0 {
		t.Errorf("it is asked %d times more or less than it takes whether it is active", n)
	}
	w.cloud.no.Store(&refusal{"until a target is healthy", providers.ErrPending})
	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "next" })
	w.eventually(func() error {
		return noError(w.cloud.refused.Load() > 1, "nothing is waited for")
	})
	w.cloud.no.Store(nil)
	w.answers("shop", "http://shop.example/", "next-1")
	if n := w.cloud.observed.Load(); n != 1 {
		t.Errorf("the load balancer is observed %d times, want once", n)
	}
}
