package controllers_test

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestAnIngressIsDeletedWhileNobodyLooks(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.calm()

	w.stop()
	if err := w.Delete(t.Context(), w.ingress("shop")); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.gone()
	w.eventually(func() error {
		return noError(apierrors.IsNotFound(w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "shop"}, &networkingv1.Ingress{})), "the Ingress is held for ever")
	})
}

func TestAFinalizerTakenByForceLeavesNothingBehind(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.calm()

	w.stop()
	w.change("shop", func(i *networkingv1.Ingress) { i.Finalizers = nil })
	if err := w.Delete(t.Context(), w.ingress("shop")); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.gone()
}

func TestNothingIsPublishedThatCouldNotBeTakenBack(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.gate.shut.Store(new("/loadbalancers/"))
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.calm()

	// The operator dies before it could write down what it did, and the Ingress becomes another's.
	w.stop()
	w.create(w.ingressClass(w.class+"-elsewhere", "example.com/other"))
	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.IngressClassName = new(w.class + "-elsewhere") })
	w.gate.shut.Store(nil)
	w.run()
	w.gone()
	w.released("shop")
}

func TestWhatNobodyRemembersIsCollected(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"), w.ask("stays", "stays.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.answers("stays", "http://stays.example/", "web-1")
	w.calm()

	w.stop()
	w.change("shop", func(i *networkingv1.Ingress) { i.Finalizers = nil })
	for _, o := range []client.Object{w.ingress("shop"), w.balancer("shop"), w.balancer("stays")} {
		if err := w.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.run()
	w.eventually(func() error {
		keys, err := w.cloud.List(t.Context())
		if err != nil {
			return err
		}
		return noError(len(keys) == 1, "%v are there", keys)
	})
	w.answers("stays", "http://stays.example/", "web-1")
}
