package controllers_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
)

// This file is Ingresses, and Services, with annotations of other controllers, as the operator sees
// them come and go.

// annotateService sets an annotation of a Service, or takes it away.
func (w *world) annotateService(name, key, value string) {
	w.Helper()
	service := &corev1.Service{}
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, service); err != nil {
		w.Fatal(err)
	}
	before := service.DeepCopy()
	if service.Annotations == nil {
		service.Annotations = map[string]string{}
	}
	if service.Annotations[key] = value; value == "" {
		delete(service.Annotations, key)
	}
	if err := w.Patch(w.Context(), service, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

func removeAnnotation(key string) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) { delete(i.Annotations, key) }
}

// unserved waits until an Ingress is told a reason, and checks that it has no address.
func (w *world) unserved(ingress string, reason diag.Reason) {
	w.Helper()
	w.told(ingress, string(reason))
	w.calm()
	if entries := w.ingress(ingress).Status.LoadBalancer.Ingress; len(entries) > 0 {
		w.Errorf("Ingress %s has the address %v", ingress, entries)
	}
}

func TestAnIngressThatAnotherControllerRestrictsIsRefused(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	ing := w.ask("shop", "shop.test", "/", "web")
	ing.Annotations[authURL] = "https://login.test"
	w.create(ing)
	w.unserved("shop", diag.AnnotationForeign)

	w.change("shop", removeAnnotation(authURL))
	w.answers("shop", "http://shop.test/", "web-1")

	// What is served stays, and is reported.
	w.change("shop", func(i *networkingv1.Ingress) {
		i.Annotations[authURL] = "https://login.test"
		i.Spec.Rules[0].HTTP.Paths[0].Path = "/new"
	})
	w.told("shop", string(diag.LastGood))
	w.answers("shop", "http://shop.test/", "web-1")
}

func TestAClassThatRefusesAgainEndsWhatItLetPass(t *testing.T) {
	w := newWorld(t)
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{ForeignAnnotations: v1alpha1.ForeignWarn})
	w.serve("web", "web-1")
	ing := w.ask("shop", "shop.test", "/", "web")
	ing.Annotations[authURL] = "https://login.test"
	w.create(ing)
	w.answers("shop", "http://shop.test/", "web-1")
	w.told("shop", string(diag.AnnotationForeign))

	params := &v1alpha1.ClusterLoadBalancerClass{}
	if err := w.Get(w.Context(), client.ObjectKey{Name: w.class}, params); err != nil {
		t.Fatal(err)
	}
	params.Spec.ForeignAnnotations = v1alpha1.ForeignRefuse
	if err := w.Update(w.Context(), params); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		if entries := w.ingress("shop").Status.LoadBalancer.Ingress; len(entries) > 0 {
			return fmt.Errorf("it has the address %v", entries)
		}
		return nil
	})
}

func TestAnIngressIsRefusedAsLongAsItsServiceIsRestricted(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.annotateService("web", "konghq.com/plugins", "key-auth")
	w.create(w.ask("shop", "shop.test", "/", "web"))
	w.unserved("shop", diag.AnnotationForeign)

	w.annotateService("web", "konghq.com/plugins", "")
	w.answers("shop", "http://shop.test/", "web-1")

	// A Service that gets one while the Ingress is served costs no request, and is reported.
	w.annotateService("web", "cloud.google.com/backend-config", `{"default": "iap"}`)
	w.eventually(func() error {
		if slices.ContainsFunc(w.notes("shop"), func(note string) bool {
			return note == "it was served before, and goes on being served"
		}) {
			return nil
		}
		return errors.New("it is not told that it stays")
	})
	w.answers("shop", "http://shop.test/", "web-1")
}
