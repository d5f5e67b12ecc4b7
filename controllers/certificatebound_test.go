package controllers_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// A namespace has two certificates, on two load balancers. A third one is refused by name, on
// either, and a renewal is not. The third one is imported when there is room.
func TestCertificatesOfANamespaceAreBounded(t *testing.T) {
	w := newWorld(t)
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{
		LoadBalancers: v1alpha1.LoadBalancerBounds{CertificatesPerNamespace: 2},
	})
	w.serve("web", "web-1")
	secured := func(name string) {
		w.Helper()
		ing := w.askSecurely(name, name+".example", "web")
		ing.Spec.TLS[0].SecretName = name
		w.create(w.secret(name, name+".example"), ing)
	}
	for _, name := range []string{"shop", "two"} {
		secured(name)
		w.answers(name, "https://"+name+".example/", "web-1")
	}
	secured("three")
	w.told("three", "CertificateQuota")
	w.answers("three", "http://three.example/", "web-1")
	for _, e := range w.events() {
		if e.Reason == "CertificateQuota" && !strings.Contains(e.Note, "/three") {
			t.Errorf("it is told %q, which does not name the Secret", e.Note)
		}
	}
	again := w.secret("shop", "shop.example")
	if err := w.Update(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error { return w.shows(w.address("shop"), again) })
	if told := w.reasons("shop"); slices.Contains(told, "CertificateQuota") {
		t.Errorf("the renewal is told %v", told)
	}
	w.remove("two")
	w.calm()
	w.change("three", annotate("fairlead.dev/health-check-path", "/ready")) // as the next look would
	w.answers("three", "https://three.example/", "web-1")
}
