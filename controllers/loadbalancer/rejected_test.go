package loadbalancer

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/nightly"
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

// TestARuleThatStaysAnswersNoNeighbour: bob no longer asks for a path of any host, or asks for it of one
// host only, and the cloud does not carry that out. What alice asks for at the same time is answered
// as if the rule were gone, and what she gives up by none of his.
func TestARuleThatStaysAnswersNoNeighbour(t *testing.T) {
	for name, c := range map[string]struct {
		step plan.Step
		act  func(b sharedBench)
	}{
		"deleted": {plan.DeleteRule{}, func(b sharedBench) { b.remove("bob", "b", false) }},
		"changed": {plan.ModifyRule{}, func(b sharedBench) { b.put(joins("bob", "b", "z.example", "/p")) }},
		"moved to another target": {plan.ModifyRule{}, func(b sharedBench) {
			ing := joins("bob", "b", "", "/p")
			ing.Spec.Rules[0].HTTP.Paths[0].Backend.Service = toService("other")
			b.put(ing)
		}},
	} {
		for failure, err := range nightly.Cases(t, stepErrors) {
			t.Run(name+failure, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newSharedBench(t, nil)
					b.put(joins("alice", "a0", "a0.example", "/own"))
					b.put(joins("alice", "a1", "a1.example", "/own"))
					b.put(joins("alice", "wild", "*.alice.example", "/own"))
					b.put(joins("bob", "b", "", "/p"))
					b.put(joins("bob", "stays", "stays.example", "/"))
					b.work()
					b.answers("other.example", "/p", "bob/web")
					b.answers("a1.example", "/p", "404")
					failed := 0
					b.cloud.Refuses = func(s plan.Step) error {
						if reflect.TypeOf(s) != reflect.TypeOf(c.step) || !strings.Contains(s.Detail(), "bob/") {
							return nil
						}
						failed++
						return err
					}
					c.act(b)
					b.put(joins("alice", "a0", "a0.example", "/p"))
					b.remove("alice", "a1", false)
					b.put(joins("alice", "a2", "a2.example", "/own"))
					b.put(joins("alice", "wild", "*.alice.example", "/own", "/new"))
					b.put(joins("alice", "below", "below.alice.example", "/new"))
					for range 4 {
						_, _ = b.Reconcile(t.Context(), sharedKey)
					}
					if failed == 0 {
						t.Fatal("no such step was planned")
					}
					b.answers("other.example", "/p", "bob/web") // the rule stays
					for request, want := range map[string]string{
						"a0.example/p": "alice/web", "a0.example/own": "404", "a1.example/own": "404",
						"a2.example/own": "alice/web", "a2.example/p": "404", "x.alice.example/new": "alice/web",
						"x.alice.example/p": "404", "below.alice.example/new": "alice/web", "below.alice.example/p": "404",
					} {
						host, path, _ := strings.Cut(request, "/")
						b.answers(host, "/"+path, want)
					}
					for _, name := range []string{"a0", "a2", "wild", "below"} {
						if len(b.find("alice", name).Status.LoadBalancer.Ingress) == 0 {
							t.Errorf("%s of alice has no address", name)
						}
					}
					if b.find("alice", "a1") != nil {
						t.Error("the Ingress that alice deleted stays")
					}
					// What is rejected leaves the last version, and it, or the new one, is for any host.
					stands := name == "moved to another target" || name == "changed" && errors.Is(err, providers.ErrRejected)
					if !stands {
						b.answers("a1.example", "/p", "404")
					}
					b.cloud.Refuses = nil
					b.work()
					b.answers("below.alice.example", "/p", "404")
					if !stands {
						b.answers("other.example", "/p", "404")
					}
				})
			})
		}
	}
}

// keepsRule has the cloud delete no rule whose detail has a text.
func (b sharedBench) keepsRule(detail string, err error) {
	b.cloud.Refuses = func(s plan.Step) error {
		if _, is := s.(plan.DeleteRule); is && strings.Contains(s.Detail(), detail) {
			return err
		}
		return nil
	}
}

// TestARuleThatStaysOnASharedHost: bob no longer asks for a wildcard, and the cloud does not delete its
// rule. A host below it that alice names is hers, though her rules are new.
func TestARuleThatStaysOnASharedHost(t *testing.T) {
	for name, hosts := range map[string]string{"shared": v1alpha1.HostsShared, "given up": v1alpha1.HostsOwned} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) { c.Hosts = hosts })
				b.put(joins("bob", "b", "*.shop.example", "/p"))
				b.put(joins("bob", "stays", "stays.example", "/"))
				b.put(joins("alice", "a0", "a0.example", "/own"))
				b.put(joins("alice", "z", "z.example", "/own"))
				b.work()
				b.answers("x.shop.example", "/p", "bob/web")
				b.keepsRule("bob/", providers.ErrDenied)
				b.remove("bob", "b", false)
				b.work()
				time.Sleep(time.Hour) // the host is free
				b.put(joins("alice", "x", "x.shop.example", "/p"))
				for range 4 {
					_, _ = b.Reconcile(t.Context(), sharedKey)
				}
				b.answers("y.shop.example", "/p", "bob/web") // the rule stays
				b.answers("x.shop.example", "/p", "alice/web")
				b.answers("x.shop.example", "/other", "404")
			})
		})
	}
}

// TestARuleThatStaysIsNotUncovered: bob deletes a path together with the one below it, which an
// expectation rules out, and the cloud does not delete the latter.
func TestARuleThatStaysIsNotUncovered(t *testing.T) {
	page := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: "page"}}
	page.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
	b := newSharedBench(t, gated, page, ruleBook(noAdmin))
	b.put(joins("alice", "a0", "a0.example", "/own"))
	b.put(joins("bob", "stays", "stays.example", "/p"))
	cover := joins("bob", "cover", "b.example", "/admin")
	cover.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{
		APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "page",
	}}
	b.put(cover)
	b.work()
	b.put(joins("bob", "b", "b.example", "/"))
	b.work()
	b.answers("b.example", "/", "bob/web")
	b.answers("b.example", "/admin", "403")
	b.cloud.Refuses = func(s plan.Step) error {
		if d, is := s.(plan.DeleteRule); is && len(d.Rule.Action.Targets) > 0 {
			return providers.ErrPending
		}
		return nil
	}
	b.remove("bob", "cover", false)
	b.remove("bob", "b", false)
	for range 4 {
		b.put(joins("alice", "a1", "a1.example", "/p")) // so that there is something to do without it
		_, _ = b.Reconcile(t.Context(), sharedKey)
		b.answers("b.example", "/", "bob/web")
		b.answers("b.example", "/admin", "403")
	}
	b.answers("a1.example", "/p", "alice/web")
	b.cloud.Refuses = nil
	b.work()
	b.answers("b.example", "/admin", "404")
}

// TestACoverThatFailsDelaysNoNeighbour: bob asks for a path that an expectation rules out, and for one
// that covers it, which the cloud does not create. Nothing new of that Ingress is served, and what
// alice asks for is, though her deletion comes after his path for all hosts.
func TestACoverThatFailsDelaysNoNeighbour(t *testing.T) {
	for _, path := range []string{"/", "/shop"} {
		for failure, err := range stepErrors {
			t.Run(path+failure, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					page := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: "page"}}
					page.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
					b := newSharedBench(t, gated, page, ruleBook(strings.ReplaceAll(noAdmin, "/admin", "/shop/admin")))
					b.put(joins("alice", "a0", "a0.example", "/own"))
					b.put(joins("alice", "a1", "a1.example", "/own"))
					b.put(joins("bob", "b", "", "/kept"))
					b.work()
					b.cloud.Refuses = func(s plan.Step) error {
						if c, is := s.(plan.CreateRule); is && c.Rule.Action.Status == 403 {
							return err
						}
						return nil
					}
					ing := joins("bob", "b", "", "/shop/admin", "/kept", path)
					ing.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{
						APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "page",
					}}
					ing.Spec.Rules[0].HTTP.Paths[2].Backend.Service = toService("other")
					b.put(ing)
					b.put(joins("alice", "a0", "a0.example", "/new"))
					b.put(joins("alice", "a2", "a2.example", "/own"))
					b.remove("alice", "a1", false)
					for range 4 {
						_, _ = b.Reconcile(t.Context(), sharedKey)
					}
					b.answers("a0.example", "/new", "alice/web")
					b.answers("a0.example", "/own", "404")
					b.answers("a2.example", "/own", "alice/web")
					b.answers("other.example", "/kept", "bob/web")
					if got := b.answer("other.example", "/shop/admin"); strings.Contains(got, "/") {
						t.Errorf("other.example/shop/admin is forwarded to %s", got)
					}
					if b.find("alice", "a1") != nil {
						t.Error("the Ingress that alice deleted stays")
					}
					for _, name := range []string{"a0", "a2"} {
						for _, n := range b.notes("alice", name) {
							if strings.HasPrefix(n, "ChangeWaits") {
								t.Errorf("%s of alice waits: %s", name, n)
							}
						}
					}
				})
			})
		}
	}
}

// TestWhatWaitsForAStepOfANeighbourIsTold: alice gives up what an expectation wants answered, and bob
// would answer it from then on, by a rule that the cloud does not create.
func TestWhatWaitsForAStepOfANeighbourIsTold(t *testing.T) {
	b := newSharedBench(t, gated, ruleBook(`
expectations:
- name: health
  requests: {hosts: [a1.example], paths: [{prefix: /health}]}
  must: {answered: true}
`))
	b.put(joins("alice", "a0", "a0.example", "/own"))
	b.put(joins("alice", "a1", "a1.example", "/health"))
	b.put(joins("bob", "stays", "stays.example", "/"))
	b.work()
	b.cloud.Refuses = func(s plan.Step) error {
		if c, is := s.(plan.CreateRule); is && strings.Contains(c.Detail(), "bob/other") {
			return providers.ErrDenied
		}
		return nil
	}
	ing := joins("bob", "b", "", "/health")
	ing.Spec.Rules[0].HTTP.Paths[0].Backend.Service = toService("other")
	b.put(ing)
	b.put(joins("alice", "a0", "a0.example", "/new"))
	b.remove("alice", "a1", false)
	for range 4 {
		_, _ = b.Reconcile(t.Context(), sharedKey)
	}
	b.answers("a1.example", "/health", "alice/web")
	b.hears("alice", "a1", "ChangeWaits", "steps of the namespaces bob", "it ends when the cloud carries them out")
	b.hears("bob", "b", "ChangeWaits", "denied")
	b.cloud.Refuses = nil
	b.work()
	b.answers("a1.example", "/health", "bob/other")
	b.answers("a0.example", "/new", "alice/web")
}

// TestARuleThatStaysLeavesOtherHosts: bob and carol no longer ask for a wildcard, and the cloud does not
// delete its rules. Alice has hosts below it and others, which get one rule for the paths that they do not
// answer. Her routes on the others come after these rules, and answer all the same.
func TestARuleThatStaysLeavesOtherHosts(t *testing.T) {
	for _, c := range []lb.Capabilities{lb.Literal(), lb.ALB(), lb.ALBGlob()} {
		for _, isNew := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, with a new host below it: %t", c.Name, isNew), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { leavesOtherHosts(t, c, isNew) })
			})
		}
	}
}

func leavesOtherHosts(t *testing.T, c lb.Capabilities, isNew bool) {
	b := newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) { c.Hosts = v1alpha1.HostsShared })
	cloud, err := fake.New(fake.Options{Capabilities: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	b.cloud.Cloud = cloud
	b.put(joins("bob", "b", "*.example", "/p1"))
	b.put(joins("carol", "c", "*.example", "/p3"))
	b.put(joins("bob", "stays", "stays.test", "/"))
	b.put(joins("alice", "a0", "a0.example", "/p0"))
	b.put(joins("alice", "a2", "a2.else", "/p0"))
	b.work()
	b.answers("x.example", "/p1", "bob/web")
	b.cloud.Refuses = func(s plan.Step) error {
		if _, is := s.(plan.DeleteRule); is && (strings.Contains(s.Detail(), "bob/") || strings.Contains(s.Detail(), "carol/")) {
			return providers.ErrThrottled
		}
		return nil
	}
	b.remove("bob", "b", false)
	b.remove("carol", "c", false)
	b.put(joins("bob", "stays", "", "/a"))
	b.put(joins("alice", "a2", "a2.else", "/p0", "/p4"))
	want := map[string]string{
		"x.example/p1": "bob/web", "x.example/p3": "carol/web", // the rules stay
		"x.y.example/p1": "404", "x.y.example/a": "bob/web",
		"a0.example/p0": "alice/web", "a0.example/p1": "404", "a0.example/p3": "404", "a0.example/a": "404",
		"a2.else/p0": "alice/web", "a2.else/p4": "alice/web", "a2.else/p1": "404", "a2.else/a": "404",
	}
	if isNew {
		b.put(joins("alice", "a3", "a3.example", "/p1"))
		want["a3.example/p1"], want["a3.example/p3"], want["a3.example/a"] = "alice/web", "404", "404"
	}
	for range 4 {
		_, _ = b.Reconcile(t.Context(), sharedKey)
		for request, want := range want {
			host, path, _ := strings.Cut(request, "/")
			b.answers(host, "/"+path, want)
		}
	}
	b.hasEachRuleOnce()
	b.cloud.Refuses = nil
	b.work()
	b.answers("x.example", "/p1", "404")
}

// hasEachRuleOnce checks that no two rules have the same conditions.
func (b sharedBench) hasEachRuleOnce() {
	b.Helper()
	seen, err := b.cloud.Cloud.Observe(b.Context(), sharedKey, false)
	if err != nil {
		b.Fatal(err)
	}
	known := map[string]bool{}
	for _, r := range seen.Listener(80).Rules {
		if known[r.MatchKey()] {
			b.Errorf("there is another rule for %s", r.MatchKey())
		}
		known[r.MatchKey()] = true
	}
}

// TestA404ThatStaysLeavesOtherHosts: bob no longer asks for two wildcards, and the cloud does not delete
// the rule of one. The 404 that keeps hosts of alice from both stays for those below that one only:
// one more rule of hers for another host comes after the rule of bob.
func TestA404ThatStaysLeavesOtherHosts(t *testing.T) {
	b := newSharedBench(t, nil)
	b.put(joins("bob", "b", "*.example", "/p1"))
	b.put(joins("bob", "goes", "*.foo", "/p2"))
	b.put(joins("bob", "stays", "stays.test", "/"))
	b.put(joins("alice", "a0", "a0.example", "/p0"))
	b.put(joins("alice", "a1", "a1.foo", "/p0"))
	b.put(joins("alice", "a2", "a2.test", "/p0"))
	b.work()
	b.answers("a0.example", "/p1", "404")
	b.answers("a1.foo", "/p2", "404")
	b.keepsRule("*.example", providers.ErrThrottled)
	b.remove("bob", "b", false)
	b.remove("bob", "goes", false)
	ing := joins("alice", "a1", "a1.foo", "/p0", "/")
	ing.Spec.Rules = append(ing.Spec.Rules, below("z.test", "/p5", "/").Spec.Rules...)
	for i := range ing.Spec.Rules { // "/" of both hosts is one rule, after all others
		ing.Spec.Rules[i].HTTP.Paths[1].Backend.Service = toService("other")
	}
	b.put(ing)
	for range 4 {
		_, _ = b.Reconcile(t.Context(), sharedKey)
	}
	for request, want := range map[string]string{
		"x.example/p1":  "bob/web", // the rule stays
		"a0.example/p0": "alice/web", "a0.example/p1": "404", "a1.foo/p0": "alice/web", "a1.foo/p2": "alice/other",
		"z.test/p2": "alice/other", "a2.test/p0": "alice/web", "x.foo/p2": "404",
	} {
		host, path, _ := strings.Cut(request, "/")
		b.answers(host, "/"+path, want)
	}
}

// TestAPartOfARuleThatFails: bob's wildcard stays in the cloud, which also refuses a new rule of alice
// for a host below it and for another one. The part for the host below it is served, unless the cloud
// refuses what an expectation wants before it as well. What carol asks for is carried out.
func TestAPartOfARuleThatFails(t *testing.T) {
	for refused, want := range map[string]string{"a0.example | z.test": "alice/other", "a0.example": "404", "z.test": "404"} {
		t.Run(refused, func(t *testing.T) {
			page := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "alice", Name: "page"}}
			page.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
			b := newSharedBench(t, gated, page, ruleBook(strings.ReplaceAll(noAdmin, "paths:", "hosts: [a0.example], paths:")))
			b.put(joins("bob", "b", "*.example", "/p1"))
			b.put(joins("bob", "stays", "y.test", "/p0"))
			b.put(joins("alice", "a", "a0.example", "/p0"))
			b.put(joins("carol", "c", "carol.test", "/p0"))
			b.work()
			b.cloud.Refuses = func(s plan.Step) error {
				r, is := s.(plan.CreateRule)
				if strings.Contains(s.Detail(), "*.example") || strings.Contains(s.Detail(), "a0.example | z.test") ||
					is && r.Rule.Action.Status == 403 && refused != "a0.example | z.test" ||
					is && refused == "z.test" && r.Rule.MatchKey() == "host = z.test" {
					return providers.ErrThrottled
				}
				return nil
			}
			b.remove("bob", "b", false)
			ing := joins("alice", "a", "a0.example", "/admin", "/")
			ing.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{
				APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "page",
			}}
			ing.Spec.Rules = append(ing.Spec.Rules, below("z.test", "/p6", "/p7").Spec.Rules...)
			ing.Spec.Rules[1].HTTP.Paths[1].Path = "/"
			for i := range ing.Spec.Rules { // "/" of both hosts is one rule, after all others
				ing.Spec.Rules[i].HTTP.Paths[1].Backend.Service = toService("other")
			}
			b.put(ing)
			b.put(joins("carol", "c", "carol.test", "/p7"))
			for range 4 {
				_, _ = b.Reconcile(t.Context(), sharedKey)
				if got := b.answer("a0.example", "/admin"); strings.Contains(got, "/") {
					t.Errorf("a0.example/admin is forwarded to %s", got)
				}
			}
			b.answers("x.example", "/p1", "bob/web")
			b.answers("carol.test", "/p7", "carol/web")
			b.answers("carol.test", "/p0", "404")
			b.answers("a0.example", "/p1", want)
			b.hasEachRuleOnce()
		})
	}
}

// A rule of bob for any host, which answers 403, is to change, and waits for a target group that fails. It
// is not about the hosts of alice.
func TestAChangeOfARuleForAnyHostDelaysNoNeighbour(t *testing.T) {
	r := newRestart(t, func(c *v1alpha1.LoadBalancerClassSpec) {
		for namespace, hosts := range map[string][]string{"alice": {"alice.example", "new.example"}, "bob": {"*"}} {
			c.AllowedHosts = append(c.AllowedHosts, v1alpha1.AllowedHosts{Hosts: hosts,
				NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}})
		}
	})
	toPage := networkingv1.IngressBackend{
		Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindBackend, Name: "page"},
	}
	old := joins("bob", "old", "", "/a", "/admin")
	for i := range old.Spec.Rules[0].HTTP.Paths {
		old.Spec.Rules[0].HTTP.Paths[i].Backend = toPage
	}
	r.put(old)
	r.work()
	r.answers("other.example", "/a", "403")
	r.cloud.Refuses = func(s plan.Step) error {
		if _, creates := s.(plan.CreateTargetGroup); creates && s.ID() == "bob/other:80" {
			return errors.New("InternalFailure")
		}
		return nil
	}
	ing := joins("bob", "first", "*.example", "/admin")
	ing.Spec.Rules[0].HTTP.Paths[0].Backend = toPage
	ing.Spec.Rules = append(ing.Spec.Rules, below("", "/a").Spec.Rules...)
	ing.Spec.Rules[1].HTTP.Paths[0].Backend.Service = toService("other")
	r.put(ing)
	r.put(joins("alice", "new", "new.example", "/p"))
	r.remove("alice", "web", false)
	r.work()
	r.answers("new.example", "/p", "alice/web")
	if len(r.find("alice", "new").Status.LoadBalancer.Ingress) == 0 {
		t.Error("the new Ingress of alice has no address")
	}
	if r.find("alice", "web") != nil {
		t.Error("the Ingress that alice deleted stays")
	}
}

// A rule of bob for a wildcard is to move behind a new host of alice. The cloud does not create the new one,
// does not delete the old one, or has no target group for it: the host comes before it nevertheless.
func TestARuleThatDoesNotMoveAnswersNoNewHost(t *testing.T) {
	for name, refuses := range map[string]func(plan.Step) bool{
		"is not created": func(s plan.Step) bool {
			create, is := s.(plan.CreateRule)
			return is && strings.Contains(create.Rule.Key(), "bob/")
		},
		"is not deleted": func(s plan.Step) bool {
			_, is := s.(plan.DeleteRule)
			return is && strings.Contains(s.Detail(), "bob/")
		},
		"has no target group": func(s plan.Step) bool {
			_, is := s.(plan.CreateTargetGroup)
			return is && strings.Contains(s.ID(), "bob/")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) {
				for namespace, hosts := range map[string][]string{"alice": {"a0.example", "a1.example", "a2.example", "*.else"}, "bob": {"*"}} {
					c.AllowedHosts = append(c.AllowedHosts, v1alpha1.AllowedHosts{Hosts: hosts,
						NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}})
				}
			})
			b.put(joins("alice", "a0", "a0.example", "/p0"))
			b.work()
			b.put(joins("bob", "b", "*.example", "/p1"))
			b.put(joins("alice", "a2", "a2.else", "/p1", "/p3"))
			b.work()
			b.put(joins("alice", "a1", "a1.example", "/p0", "/p1"))
			b.work()
			b.put(joins("alice", "a1", "a1.else", "/p2", "/p5"))
			b.work()
			b.cloud.Refuses = func(s plan.Step) error {
				if refuses(s) {
					return providers.ErrDenied
				}
				return nil
			}
			if name == "has no target group" {
				ing := joins("bob", "b", "*.example", "/p1")
				ing.Spec.Rules[0].HTTP.Paths[0].Backend.Service = toService("other")
				b.put(ing)
			}
			b.put(joins("alice", "a2", "a2.example", "/p0", "/p5"))
			for range 3 {
				b.work()
				b.answers("a2.example", "/p0", "alice/web")
				b.answers("a2.example", "/p1", "404")
				b.answers("x.example", "/p1", "bob/web")
			}
		})
	}
}

// The cloud does not delete a rule of bob for any host, or for a wildcard. Where misses go on to less
// specific hosts, too, it answers no new host of alice, as nothing is left there to go on to.
func TestARuleThatStaysAnswersNoMisses(t *testing.T) {
	for name, edit := range map[string]func(*v1alpha1.LoadBalancerClassSpec){
		"Answer":       func(*v1alpha1.LoadBalancerClassSpec) {},
		"LessSpecific": func(c *v1alpha1.LoadBalancerClassSpec) { c.HostMiss = v1alpha1.HostMissLessSpecific },
		"Order":        func(c *v1alpha1.LoadBalancerClassSpec) { c.Precedence = v1alpha1.PrecedenceOrder },
	} {
		for _, host := range []string{"", "*.example"} {
			t.Run(fmt.Sprintf("%s, %q", name, host), func(t *testing.T) {
				b := newSharedBench(t, edit)
				b.put(joins("alice", "a0", "a0.example", "/p0"))
				b.put(joins("alice", "new", "new.example", "/p0"))
				b.put(joins("bob", "b", host, "/p1"))
				b.work()
				b.answers("x.example", "/p1", "bob/web")
				b.put(joins("alice", "new", "new.else", "/p0"))
				b.work()
				b.cloud.Refuses = func(s plan.Step) error {
					if _, deletes := s.(plan.DeleteRule); deletes && strings.Contains(s.Detail(), "bob/") {
						return providers.ErrDenied
					}
					return nil
				}
				b.remove("bob", "b", false)
				b.work()
				b.put(joins("alice", "new", "new.example", "/p0"))
				for range 3 {
					b.work()
					b.answers("new.example", "/p0", "alice/web")
					b.answers("new.example", "/p1", "404")
					b.answers("a0.example", "/p1", "404")
					b.answers("x.example", "/p1", "bob/web")
				}
			})
		}
	}
}

// A rule of bob is in the cloud twice, as an older one could not be deleted, behind a 404 that kept
// requests of alice from it. Bob exchanges two paths, and no step of his is carried out: the rule that
// answers stays, the other one answers nothing, and a path goes that alice deletes.
func TestARuleThatIsThereTwice(t *testing.T) {
	for name, refuses := range map[string]func(plan.Step) bool{
		"no rule is deleted": func(s plan.Step) bool { _, is := s.(plan.DeleteRule); return is },
		"no rule is changed": func(s plan.Step) bool { _, is := s.(plan.ModifyRule); return is },
		"no rule is created": func(s plan.Step) bool { _, is := s.(plan.CreateRule); return is },
		"nothing is done":    func(plan.Step) bool { return true },
	} {
		for _, exchanged := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, exchanged %t", name, exchanged), func(t *testing.T) {
				b := restart{newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) { c.Precedence = v1alpha1.PrecedenceOrder }), nil}
				b.put(joins("alice", "web", "a0.example", "/p0", "/p5"))
				b.work()
				paths := []string{"/p*", "/*1"}
				asks := func() {
					ing := joins("bob", "b", "", paths...)
					for i, path := range paths {
						of := &ing.Spec.Rules[0].HTTP.Paths[i]
						of.PathType, of.Backend.Service = new(networkingv1.PathTypeImplementationSpecific), toService(map[string]string{"/p*": "web", "/*1": "other"}[path])
					}
					b.put(ing)
				}
				if exchanged {
					slices.Reverse(paths)
				}
				asks()
				b.work()
				b.applies(func(seen *lb.Observed) plan.Step {
					cover := lb.Rule{Conditions: []lb.Condition{{Field: "host", Values: []string{"a0.example", "a1.example"}}}, Action: notFound}
					return plan.CreateRule{Port: 80, Priority: lastOf(seen).Priority + 100, Rule: cover}
				})
				b.applies(func(seen *lb.Observed) plan.Step {
					rules := seen.Listener(80).Rules
					at := slices.IndexFunc(rules, func(r lb.ObservedRule) bool { return strings.Contains(r.Action.Key(), "bob/web") })
					again := rules[at].Rule
					again.Action = lb.Action{Kind: "forward", Targets: []lb.Weighted{{Group: "bob/other:80", Weight: 1}}}
					return plan.CreateRule{Port: 80, Priority: lastOf(seen).Priority + 100, Rule: again}
				})
				b.takeOver()
				b.cloud.Refuses = func(s plan.Step) error {
					if refuses(s) && strings.Contains(s.Detail(), "bob/") {
						return errors.New("InternalFailure")
					}
					return nil
				}
				slices.Reverse(paths)
				asks()
				b.put(joins("alice", "web", "a0.example", "/p0"))
				for range 3 {
					_, _ = b.Reconcile(t.Context(), sharedKey)
					b.answers("a0.example", "/p0", "alice/web")
					b.answers("a0.example", "/p5", "404")
					b.answers("a0.example", "/p1", "404")
					b.answers("x.example", "/p", "bob/web")
					b.answers("x.example", "/1", "bob/other")
				}
			})
		}
	}
}

// lastOf returns the last rule of port 80.
func lastOf(seen *lb.Observed) lb.ObservedRule {
	rules := seen.Listener(80).Rules
	return rules[len(rules)-1]
}

// The cloud does not delete a rule of bob. A rule for any host that came before it in order, with a 403, goes:
// what it kept from the other one is kept from it nevertheless.
func TestARuleThatStaysIsNotUncoveredInOrder(t *testing.T) {
	for _, above := range []string{"", "*.example"} {
		t.Run(above, func(t *testing.T) {
			page := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: "page"}}
			page.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
			r := restart{newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) {
				gated(c)
				c.Precedence = v1alpha1.PrecedenceOrder
			}, page, ruleBook(noAdmin)), page}
			r.put(joins("alice", "web", "alice.example", "/p"))
			r.asksForPage("a", above, "/admin")
			r.work()
			r.put(joins("bob", "b", "b.example", "/"))
			r.work()
			r.answers("b.example", "/admin", "403")
			r.answers("b.example", "/p", "bob/web")
			r.cloud.Refuses = func(s plan.Step) error {
				if _, deletes := s.(plan.DeleteRule); deletes && strings.Contains(s.Detail(), "bob/") {
					return errors.New("InternalFailure")
				}
				return nil
			}
			r.remove("bob", "a", false)
			r.remove("bob", "b", false)
			r.put(joins("alice", "web", "alice.example", "/new"))
			for range 2 {
				_, _ = r.Reconcile(t.Context(), sharedKey)
				r.answers("b.example", "/admin", "403")
				r.answers("alice.example", "/new", "alice/web")
				r.answers("alice.example", "/p", "404")
			}
			r.cloud.Refuses = nil
			r.work()
			r.answers("b.example", "/admin", "404")
		})
	}
}

// Of many rules of bob, each of which overlaps the next, the cloud carries none out, so that each fails only
// after the plan is made again without those before it. A change of alice that comes after all of them is
// carried out in the same reconcile.
func TestManyLayersOfStepsThatFailDelayNoNeighbour(t *testing.T) {
	for of, ask := range map[string]func(b sharedBench, to ...string){
		"one Ingress": func(b sharedBench, to ...string) {
			ing := joins("bob", "deep", "b.example", nested...)
			for i := range nested {
				ing.Spec.Rules[0].HTTP.Paths[i].Backend.Service = toService(to[i%2])
			}
			b.put(ing)
		},
		"many Ingresses": func(b sharedBench, to ...string) {
			for i, path := range nested {
				ing := joins("bob", "deep"+strconv.Itoa(i), "b.example", path)
				ing.Spec.Rules[0].HTTP.Paths[0].Backend.Service = toService(to[i%2])
				b.put(ing)
			}
		},
	} {
		for step, to := range map[string]struct{ before, after []string }{
			"create rule": {after: []string{"other", "web"}},
			"modify rule": {before: []string{"web", "other"}, after: []string{"other", "web"}},
			"delete rule": {before: []string{"web", "other"}, after: []string{"web", "web"}},
		} {
			for why, failure := range nightly.Cases(t, stepErrors) {
				t.Run(of+", "+step+", "+why, func(t *testing.T) {
					b := newSharedBench(t, nil)
					b.put(joins("alice", "web", "", "/old"))
					b.put(joins("bob", "web", "bob.test", "/"))
					b.work()
					if to.before != nil {
						ask(b, to.before...)
						b.work()
					}
					b.cloud.Refuses = func(s plan.Step) error {
						if s.Op() == step && strings.Contains(s.Detail(), "bob/") {
							return failure
						}
						return nil
					}
					ask(b, to.after...)
					b.put(joins("alice", "web", "", "/new"))
					_, _ = b.Reconcile(t.Context(), sharedKey)
					b.answers("x.example", "/new", "alice/web")
					b.answers("x.example", "/old", "404")
				})
			}
		}
	}
}

// nested are paths each of which is below the next.
var nested = []string{"/a/a/a/a/a/a/a/a", "/a/a/a/a/a/a/a", "/a/a/a/a/a/a", "/a/a/a/a/a", "/a/a/a/a", "/a/a/a", "/a/a", "/a"}
