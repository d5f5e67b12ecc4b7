package controllers_test

import (
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
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

func TestAnIngressJoinsAGroupWithoutAGap(t *testing.T) {
	w := newWorld(t)
	grace := metav1.Duration{Duration: 2 * time.Second}
	parameters := &v1alpha1.ClusterLoadBalancerClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.class},
		Spec:       v1alpha1.LoadBalancerClassSpec{MoveGrace: &grace},
	}
	w.create(parameters)
	class := &networkingv1.IngressClass{}
	if err := w.Get(t.Context(), client.ObjectKey{Name: w.class}, class); err != nil {
		t.Fatal(err)
	}
	group := v1alpha1.Group
	class.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: &group, Kind: v1alpha1.KindClusterLoadBalancerClass, Name: w.class}
	if err := w.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.calm()
	old := w.ingress("shop").Status.LoadBalancer.Ingress[0].IP

	w.change("shop", func(i *networkingv1.Ingress) { i.Annotations = map[string]string{"fairlead.dev/group": "all"} })
	w.eventually(func() error {
		at := w.ingress("shop").Status.LoadBalancer.Ingress[0].IP
		return noError(at != old, "it still points to %s", at)
	})
	if err := w.request(old, "http://shop.example/", "web-1"); err != nil {
		t.Errorf("clients that have not followed yet: %s", err)
	}
	w.answers("shop", "http://shop.example/", "web-1")
	w.eventually(func() error {
		keys, err := w.cloud.List(t.Context())
		if err != nil {
			return err
		}
		return noError(len(keys) == 1, "%v are there", keys)
	})
	w.answers("shop", "http://shop.example/", "web-1")
}
