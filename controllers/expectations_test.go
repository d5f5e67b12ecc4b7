package controllers_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/kube"
)

// This file tests expectations in a ConfigMap that a class names.

const noAdmin = `
expectations:
- name: no-admin
  requests: {paths: [{prefix: /admin}]}
  must: {forwarded: false}
`

// expect makes the class name a ConfigMap with expectations.
func (w *world) expect(text string) *corev1.ConfigMap {
	w.Helper()
	rules := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "rules"}, Data: map[string]string{"rules.yaml": text}}
	w.create(rules)
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{Expectations: &v1alpha1.ConfigMapReference{Namespace: w.namespace, Name: "rules"}})
	return rules
}

// A plan that violates an expectation waits, and is carried out when the ConfigMap changes. The
// author of the Ingress gets an event.
func TestAChangeOfExpectationsIsActedOn(t *testing.T) {
	w := newWorld(t)
	rules := w.expect(noAdmin)
	w.serve("web", "web-1")
	w.serve("api", "api-1")
	w.create(w.ask("shop", "shop.example", "/", "web")) // its path has /admin
	w.programmed("shop", v1alpha1.ReasonExpectation)
	if n := w.cloud.writes.Load(); n > 0 {
		t.Errorf("%d writes to the cloud", n)
	}
	w.eventually(func() error {
		var events eventsv1.EventList
		if err := w.List(t.Context(), &events, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Reason == v1alpha1.ReasonExpectation && e.Regarding.Name == "shop" && strings.Contains(e.Note, "curl http://shop.example/admin") {
				return nil
			}
		}
		return errors.New("the author gets no event")
	})
	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/shop" })
	w.answers("shop", "http://shop.example/shop", "web-1")
	w.programmed("shop", v1alpha1.ReasonProgrammed)

	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/" })
	w.programmed("shop", v1alpha1.ReasonExpectation)
	w.calm()
	w.answers("shop", "http://shop.example/shop", "web-1")

	// The ConfigMap alone changes: no longer about this host.
	rules.Data["rules.yaml"] = strings.ReplaceAll(noAdmin, "requests: {", "requests: {hosts: [other.example], ")
	if err := w.Update(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
	w.answers("shop", "http://shop.example/admin", "web-1")
	w.programmed("shop", v1alpha1.ReasonProgrammed)

	rules.Data["rules.yaml"] = strings.ReplaceAll(noAdmin, "/admin", "/secret")
	if err := w.Update(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/admin" })
	w.answers("shop", "http://shop.example/admin", "web-1")
	if err := w.Delete(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
	w.degraded("shop", v1alpha1.ReasonExpectations) // until then, a change is judged by what was deleted
	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/shop" })
	w.programmed("shop", v1alpha1.ReasonExpectations)
	rules.ResourceVersion, rules.UID = "", ""
	w.create(rules)
	w.answers("shop", "http://shop.example/shop", "web-1")
	w.programmed("shop", v1alpha1.ReasonProgrammed)
}

// The operator asks for the ConfigMap by its name, and for no other: its role may be limited to
// that name.
func TestOnlyTheNamedConfigMapIsAskedFor(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	asked := make(chan string, 1000)
	reading := func(r *http.Request) {
		if strings.Contains(r.URL.Path, "/configmaps") {
			asked <- r.URL.String()
		}
	}
	w.gate.reading.Store(&reading)
	w.run()
	w.expect(noAdmin)
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/shop", "web"))
	w.answers("shop", "http://shop.example/shop", "web-1")
	w.stop()
	close(asked)
	if len(asked) < 2 {
		t.Errorf("%d requests: it is not watched", len(asked))
	}
	for url := range asked {
		if !strings.Contains(url, "/configmaps/rules") && !strings.Contains(url, "fieldSelector=metadata.name%3Drules") {
			t.Errorf("asked for %s", url)
		}
	}
}

// A namespace that violates an expectation on a shared load balancer delays neither a change nor a
// deletion of another one.
func TestAViolationOfANeighbourDelaysNothing(t *testing.T) {
	alice, bob, _ := neighbours(t, time.Minute)
	alice.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: alice.namespace, Name: "rules"}, Data: map[string]string{"rules.yaml": noAdmin}})
	alice.permit(`{"expectations":{"namespace":"` + alice.namespace + `","name":"rules"}}`)
	enter := func(w *world, host, path string) {
		t.Helper()
		ing := w.ask("web", host, path, "web")
		ing.Annotations["fairlead.dev/group"] = "edge"
		w.create(ing)
	}
	enter(alice, "alice.example", "/old")
	alice.answers("web", "http://alice.example/old", "alice")
	enter(bob, "bob.example", "/admin")
	bob.told("web", v1alpha1.ReasonExpectation)
	bob.told("web", "ChangeWaits")
	at := alice.address("web")
	alice.change("web", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/new" })
	alice.answers("web", "http://alice.example/new", "alice")
	if err := alice.request(at, "http://bob.example/admin", "404"); err != nil {
		t.Error(err)
	}
	if got := alice.reasons("web"); slices.Contains(got, "ChangeWaits") {
		t.Errorf("alice is told %v", got)
	}
	alice.remove("web")
	alice.eventually(func() error {
		err := alice.Get(t.Context(), client.ObjectKey{Namespace: alice.namespace, Name: "web"}, &networkingv1.Ingress{})
		return noError(apierrors.IsNotFound(err), "the Ingress that alice deleted stays: %v", err)
	})
}
