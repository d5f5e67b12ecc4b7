package operator

import (
	"math/rand/v2"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/kube"
	"fairlead.dev/fairlead/test/nightly"
)

// This file kills the operator in the middle of its work, again and again.

// TestKilledAtAnyMoment has each operator work for a moment only, until the work is done all the
// same.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	const n = 12
	w := newWorld(t, simulating(t, albsim.Options{Linger: time.Second, Health: time.Second}))
	rng := rand.New(rand.NewPCG(11, 0))
	kills := 3
	if nightly.Is() {
		kills = 6
	}
	for _, c := range []struct {
		work string
		do   func()
		done func() bool
	}{
		{"create", func() { w.siteBySite(t, n) }, func() bool { return w.served(t, n, n) }},
		{"change", func() {
			for i := range n / 2 {
				w.point(t, site(i), backend(n-1-i))
			}
			w.create(t, w.ingress("a-first", backend(n-1), "/"))
		}, func() bool { return w.served(t, n+1, n/2) }},
		{"delete", func() {
			if err := w.DeleteAllOf(t.Context(), &networkingv1.Ingress{}, client.InNamespace(w.namespace)); err != nil {
				t.Fatal(err)
			}
		}, func() bool { return w.ingresses(t) == 0 && w.empty(t) }},
	} {
		c.do()
		killed := 0
		for range kills {
			w.proxy.forget()
			w.replace(t)
			kube.Eventually(t, "an operator is at work", func() bool { return w.proxy.asked() })
			time.Sleep(time.Duration(500+rng.IntN(1500)) * time.Millisecond) // it is killed in the middle of what it does, whatever that is
			w.replica.Kill()
			killed++
			if b := w.balancers(t); b > 1 {
				t.Fatalf("%s: there are %d load balancers after %d were killed", c.work, b, killed)
			}
		}
		w.replace(t)
		kube.Eventually(t, c.work, func() bool { return c.done() && w.proxy.quiet() > rest })
	}
}
