package controllers_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/test/kube"
)

// This file is about the IngressClass that the operator keeps in the cluster.

// managing makes an operator keep an IngressClass. It is gone when the test is.
func (w *world) managing(class string) func(*settings) {
	w.Cleanup(func() {
		_ = w.Delete(context.Background(), w.ingressClass(class, "")) // if it is there
	})
	return func(s *settings) { s.operator.ManageClass = class }
}

// madeClass reads an IngressClass that is not the one of before.
func (w *world) madeClass(name string, before *networkingv1.IngressClass) *networkingv1.IngressClass {
	w.Helper()
	class := &networkingv1.IngressClass{}
	w.eventually(func() error {
		if err := w.Get(w.Context(), client.ObjectKey{Name: name}, class); err != nil {
			return err
		}
		return noError(before == nil || class.UID != before.UID, "class %s is still the old one", name)
	})
	return class
}

func TestTheClassIsMadeAndThenItsOwners(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	name := w.class + "-managed"
	w.run(w.managing(name))
	made := w.madeClass(name, nil)
	if diff := cmp.Diff(networkingv1.IngressClassSpec{Controller: ingress.ControllerName}, made.Spec); diff != "" || len(made.Annotations) > 0 {
		t.Errorf("it is made with annotations %v and the spec (-want +got):\n%s", made.Annotations, diff)
	}

	theirs := made.DeepCopy()
	group := v1alpha1.Group
	theirs.Annotations = map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "false"}
	theirs.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: &group, Kind: v1alpha1.KindClusterLoadBalancerClass, Name: w.class}
	w.create(&v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: w.class}, Spec: v1alpha1.LoadBalancerClassSpec{Scheme: v1alpha1.SchemeInternal}})
	if err := w.Update(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	w.serve("web", "web-1")
	ing := w.ask("shop", "shop.example", "/", "web")
	ing.Spec.IngressClassName = &name
	w.create(ing)
	w.answers("shop", "http://shop.example/", "web-1")
	if diff := cmp.Diff(theirs, w.madeClass(name, nil)); diff != "" {
		t.Errorf("what its owner said was changed (-said +is):\n%s", diff)
	}

	if err := w.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	again := w.madeClass(name, theirs)
	if diff := cmp.Diff(theirs.Spec, again.Spec); diff != "" || len(again.Annotations) > 0 {
		t.Errorf("it comes back with annotations %v and the spec (-was +is):\n%s", again.Annotations, diff)
	}

	// Nobody knows its parameters any more once the operator has not been there.
	w.eventually(func() error {
		key := client.ObjectKey{Name: v1alpha1.Name(name+"/"+w.namespace+"/shop/internal", w.namespace)}
		report := &v1alpha1.LoadBalancer{}
		if err := w.Get(t.Context(), key, report); err != nil {
			return err
		}
		return noError(report.Status.Memory.Class != nil, "the class is not remembered yet")
	})
	w.stop()
	if err := w.Delete(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	w.run(w.managing(name))
	w.told("shop", "ClassMissing")
	w.calm()
	if err := w.Get(t.Context(), client.ObjectKey{Name: name}, again); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the class is made without the parameters that it had: error %v", err)
	}
}

func TestAClassOfSomebodyElseStaysTheirs(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Start(t, kube.Options{})) // for the operator looks after all namespaces
	theirs := w.ingressClass(w.class+"-taken", "example.com/other")
	w.create(theirs)
	w.run(w.managing(theirs.Name), overAll)
	w.eventually(func() error {
		var list eventsv1.EventList
		if err := w.List(t.Context(), &list, client.InNamespace(metav1.NamespaceDefault)); err != nil {
			return err
		}
		return noError(slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool {
			return e.Regarding.Kind == "IngressClass" && e.Regarding.Name == theirs.Name && e.Reason == "ClassTaken"
		}), "nobody is told")
	})
	if diff := cmp.Diff(theirs, w.madeClass(theirs.Name, nil)); diff != "" {
		t.Errorf("it was changed:\n%s", diff)
	}
}
