package controllers_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/kube"
)

// This file has another operator work on a load balancer meanwhile.

// take writes the term of another operator into the report of an Ingress's load balancer, as its
// first write does.
func (w *world) take(ingress string) {
	w.Helper()
	report := w.balancer(ingress)
	before := report.DeepCopy()
	report.Status.Term = "another"
	if err := w.Status().Patch(w.Context(), report, client.MergeFrom(before)); err != nil {
		w.Error(err)
	}
}

// What another operator has changed is looked at anew, although the cloud was looked at a moment
// before.
func TestWhatAnotherOperatorHasTakenIsLookedAtAnew(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.run(func(s *settings) { s.operator.Term = "first" })
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.calm()
	if term := w.balancer("shop").Status.Term; term != "first" {
		t.Errorf("the record has the term %q", term)
	}
	looks := w.cloud.observed.Load()
	w.take("shop")
	w.eventually(func() error { return noError(w.cloud.observed.Load() > looks, "it is not looked at") })
}

// A plan ends at its first write where another operator has begun one meanwhile. The cloud is
// looked at before the next.
func TestAPlanEndsWhereAnotherOperatorHasBegunOne(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.run(func(s *settings) { s.operator.Term = "first" })
	w.serve("web", "web-1")
	w.serve("next", "next-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.calm()

	writes := w.cloud.writes.Load()
	var taken atomic.Bool
	before := func(r *http.Request) {
		if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/loadbalancers/") && !taken.Swap(true) {
			w.take("shop")
		}
	}
	w.gate.before.Store(&before)
	var looked atomic.Int32
	look := func(seen *lb.Observed) (*lb.Observed, error) {
		if looked.Add(1) == 1 && w.cloud.writes.Load() != writes {
			t.Error("the plan went on")
		}
		return seen, nil
	}
	w.cloud.look.Store(&look)
	w.change("shop", func(ing *networkingv1.Ingress) {
		ing.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "next"
	})
	w.answers("shop", "http://shop.example/", "next-1")
	if !taken.Load() || looked.Load() == 0 {
		t.Errorf("it was taken: %t; it was looked at %d times", taken.Load(), looked.Load())
	}
}
