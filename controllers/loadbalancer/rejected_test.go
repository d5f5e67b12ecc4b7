package loadbalancer

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// TestARejectedBackendDelaysNoNeighbour: a Backend of bob changes, and the cloud rejects the target
// group that it needs. Each version of bob's Ingress needs it, so none can be left out. What alice
// deletes goes nevertheless, though requests for her hosts are answered by bob's path then.
func TestARejectedBackendDelaysNoNeighbour(t *testing.T) {
	page := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: "page"}}
	page.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
	b := newSharedBench(t, nil, page)
	toPage := joins("bob", "b", "", "/a", "/b")
	for i := range toPage.Spec.Rules[0].HTTP.Paths {
		toPage.Spec.Rules[0].HTTP.Paths[i].Backend = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{
			APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "page",
		}}
	}
	toPage.Spec.Rules[0].HTTP.Paths[1].Backend = networkingv1.IngressBackend{Service: toService("other")}
	b.put(joins("alice", "a0", "a0.example", "/"))
	b.put(joins("alice", "a1", "a1.example", "/p"))
	b.put(toPage)
	b.work()
	b.answers("b.example", "/a", "403")
	b.answers("b.example", "/b", "bob/other")

	rejects := func(s plan.Step) error {
		if c, is := s.(plan.CreateTargetGroup); is && strings.HasPrefix(string(c.Group.ID), "bob/web") {
			return providers.ErrNoRoom
		}
		return nil
	}
	b.cloud.Refuses = rejects
	if err := b.Get(t.Context(), client.ObjectKeyFromObject(page), page); err != nil {
		t.Fatal(err)
	}
	page.Spec = v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{{Name: "web", Port: v1alpha1.ServicePort{Number: 80}}}}
	if err := b.Update(t.Context(), page); err != nil {
		t.Fatal(err)
	}
	b.remove("alice", "a1", false)
	b.put(joins("alice", "a2", "a2.example", "/p"))
	for range 4 {
		_, _ = b.Reconcile(t.Context(), sharedKey)
	}
	if b.find("alice", "a1") != nil {
		t.Error("the Ingress that alice deleted stays")
	}
	if len(b.find("alice", "a2").Status.LoadBalancer.Ingress) == 0 {
		t.Error("the Ingress that alice created has no address")
	}
	b.answers("a2.example", "/p", "alice/web")
	b.answers("b.example", "/a", "403") // as before, not 404 or 503
	b.answers("a1.example", "/a", "403")
	b.answers("b.example", "/b", "bob/other")

	b.cloud.Refuses = nil
	b.work()
	b.answers("b.example", "/a", "bob/web")
	b.answers("a1.example", "/a", "bob/web")
}

// TestARejectedBackendUncoversNothing: bob's Backend no longer forwards to the Service that an
// expectation rules out, and the cloud rejects its new target group. What alice deletes goes, and the
// old action of bob answers no request of hers.
func TestARejectedBackendUncoversNothing(t *testing.T) {
	page := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: "page"}}
	page.Spec.Services = []v1alpha1.WeightedService{{Name: "web", Port: v1alpha1.ServicePort{Number: 80}}}
	const text = `
expectations:
- name: no-web
  requests: {paths: [{prefix: /admin}], answeredBy: {services: [bob/web]}}
  must: {forwarded: false}
`
	rules := ruleBook(strings.ReplaceAll(text, "/admin", "/never"))
	b := newSharedBench(t, gated, page, rules)
	toPage := joins("bob", "b", "", "/admin")
	toPage.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{
		APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "page",
	}}
	b.put(joins("alice", "a0", "a0.example", "/"))
	b.put(joins("alice", "a1", "a1.example", "/p"))
	b.put(toPage)
	b.work()
	rules.Data["rules.yaml"] = text
	if err := b.Update(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
	b.work()
	b.answers("b.example", "/admin", "bob/web") // it stands
	b.answers("a1.example", "/admin", "404")

	b.cloud.Refuses = func(s plan.Step) error {
		if c, is := s.(plan.CreateTargetGroup); is && strings.HasPrefix(string(c.Group.ID), "bob/other") {
			return providers.ErrNoRoom
		}
		return nil
	}
	if err := b.Get(t.Context(), client.ObjectKeyFromObject(page), page); err != nil {
		t.Fatal(err)
	}
	page.Spec.Services[0].Name = "other"
	if err := b.Update(t.Context(), page); err != nil {
		t.Fatal(err)
	}
	b.work()
	b.answers("b.example", "/admin", "bob/web") // as before
	b.remove("alice", "a1", false)
	b.work()
	if b.find("alice", "a1") != nil {
		t.Error("the Ingress that alice deleted stays")
	}
	b.answers("a1.example", "/admin", "503")
	b.answers("a0.example", "/admin", "alice/web")
	b.hears("bob", "b", "ExpectationViolated", "no-web")

	b.cloud.Refuses = nil
	b.work()
	b.answers("a1.example", "/admin", "bob/other")
}
