package controllers_test

import (
	"errors"
	"fmt"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/providers"
)

// This file is about members of a group that are in trouble, and their neighbours, who are not.

func TestOneBadMemberCostsItsNeighboursNothing(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	const bad = "member-7"
	name := func(i int) string { return fmt.Sprintf("member-%d", i) }
	for i := range 20 {
		ing := w.ask(name(i), name(i)+".example", "/", "web")
		ing.Annotations["fairlead.dev/group"] = "twenty"
		if ing.Name == bad {
			ing.Annotations["fairlead.dev/health-check-path"] = "not a path"
		}
		w.create(ing)
	}
	w.told(bad, "AnnotationInvalid")
	for i := range 20 {
		if name(i) == bad {
			continue
		}
		w.answers(name(i), "http://"+name(i)+".example/", "web-1")
		if told := w.reasons(name(i)); len(told) > 0 {
			t.Errorf("%s is told %v, and nothing is wrong with it", name(i), told)
		}
	}
	if i := w.ingress(bad); len(i.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("the bad member has the status %v", i.Status.LoadBalancer.Ingress)
	}

	w.change(bad, func(i *networkingv1.Ingress) { i.Annotations["fairlead.dev/health-check-path"] = "/" })
	w.answers(bad, "http://"+bad+".example/", "web-1")
}

func TestABadVersionLeavesTheLastGoodOneServed(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.serve("api", "api-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.calm()

	w.change("shop", func(i *networkingv1.Ingress) {
		i.Annotations = map[string]string{"fairlead.dev/scheme": "nowhere"}
		i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "api"
	})
	w.told("shop", "AnnotationInvalid")
	w.told("shop", "LastGood")
	w.calm()
	w.answers("shop", "http://shop.example/", "web-1")

	w.change("shop", func(i *networkingv1.Ingress) { i.Annotations = nil })
	w.answers("shop", "http://shop.example/", "api-1")
}

func TestWhatTheCloudRejectsCostsItsNeighboursNothing(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.cloud.no.Store(&refusal{"bad.example", fmt.Errorf("this cloud does not like it: %w", providers.ErrRejected)})
	w.join("two", w.ask("good", "good.example", "/", "web"), w.ask("bad", "bad.example", "/", "web"))
	w.answers("good", "http://good.example/", "web-1")
	w.told("bad", "Rejected")

	w.calm()
	before := w.cloud.writes.Load()
	w.remove("bad")
	if n := w.cloud.writes.Load() - before; n > 0 {
		t.Errorf("%d writes to take away what was never there", n)
	}
}

func TestARejectedChangeLeavesTheLastGoodVersionServed(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.join("two", w.ask("good", "good.example", "/", "web"), w.ask("bad", "bad.example", "/", "web"))
	w.answers("good", "http://good.example/", "web-1")
	w.answers("bad", "http://bad.example/", "web-1")
	w.calm()

	w.cloud.no.Store(&refusal{"/new", fmt.Errorf("this cloud does not like it: %w", providers.ErrRejected)})
	w.change("bad", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/new" })
	w.told("bad", "Rejected")
	w.change("good", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "better.example" })
	w.answers("good", "http://better.example/", "web-1")
	w.answers("bad", "http://bad.example/", "web-1")
}

func TestADeletionDoesNotWaitForItsNeighbours(t *testing.T) {
	for trouble, err := range map[string]error{
		"rejected": fmt.Errorf("this cloud does not like it: %w", providers.ErrRejected),
		"pending":  fmt.Errorf("this takes the cloud a while: %w", providers.ErrPending),
		"denied":   fmt.Errorf("this credential is good for nothing: %w", providers.ErrDenied),
		"unknown":  errors.New("this went wrong"),
	} {
		t.Run("whose steps are "+trouble, func(t *testing.T) {
			w := newWorld(t)
			w.serve("web", "web-1")
			w.join("three", w.ask("good", "good.example", "/", "web"), w.ask("leaves", "leaves.example", "/", "web"))
			w.answers("leaves", "http://leaves.example/", "web-1")
			w.cloud.no.Store(&refusal{"bad.example", err})
			refused := w.ask("refused", "refused.example", "/", "web")
			refused.Annotations["fairlead.dev/listen-ports"] = "GOPHER:70"
			w.join("three", w.ask("bad", "bad.example", "/", "web"), refused)
			w.told("refused", "AnnotationInvalid")

			w.remove("leaves")
			w.answers("good", "http://good.example/", "web-1")
			w.answers("good", "http://leaves.example/", "404")
			w.remove("bad")
			w.remove("refused")
			w.remove("good")
			w.gone()
		})
	}
}

// join creates Ingresses as members of a group.
func (w *world) join(group string, members ...*networkingv1.Ingress) {
	w.Helper()
	for _, m := range members {
		m.Annotations["fairlead.dev/group"] = group
		w.create(m)
	}
}

// remove deletes an Ingress and waits until nobody holds it any more.
func (w *world) remove(ingress string) {
	w.Helper()
	if err := w.Delete(w.Context(), w.ingress(ingress)); err != nil {
		w.Fatal(err)
	}
	w.eventually(func() error {
		err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: ingress}, &networkingv1.Ingress{})
		return noError(apierrors.IsNotFound(err), "Ingress %s is held: %v", ingress, err)
	})
}

func TestAChangeIsMadeWhereTheCloudRefusesToPark(t *testing.T) {
	w := newWorld(t)
	w.serve("old", "old-1")
	w.serve("new", "new-1")
	w.join("one", w.ask("shop", "shop.example", "/", "old"))
	w.answers("shop", "http://shop.example/", "old-1")
	w.calm()

	w.cloud.no.Store(&refusal{"warm.invalid", fmt.Errorf("this cloud does not like it: %w", providers.ErrRejected)})
	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "new" })
	w.told("shop", "Unparked")
	w.answers("shop", "http://shop.example/", "new-1")
}
