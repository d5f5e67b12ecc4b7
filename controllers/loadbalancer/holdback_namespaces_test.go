package loadbalancer

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
)

// This file tests that a violation, and a plan that is not proven, hold back the namespaces that
// cause them, and no other one.

func gated(c *v1alpha1.LoadBalancerClassSpec) {
	c.Expectations = &v1alpha1.ConfigMapReference{Namespace: "platform", Name: "rules"}
}

// newGatedShare is a shared bench with expectations, and an Ingress of alice and one of bob.
func newGatedShare(t *testing.T, edit func(*v1alpha1.LoadBalancerClassSpec), objects ...client.Object) sharedBench {
	t.Helper()
	b := newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) {
		gated(c)
		if edit != nil {
			edit(c)
		}
	}, append(objects, ruleBook(noAdmin))...)
	b.put(joins("alice", "web", "alice.example", "/old"))
	b.put(joins("bob", "web", "bob.example", "/old"))
	b.work()
	b.answers("alice.example", "/old", "alice/web")
	b.answers("bob.example", "/old", "bob/web")
	return b
}

// checkAliceIsFree checks that changes of alice, and her deletion, are carried out.
func (b sharedBench) checkAliceIsFree() {
	b.Helper()
	b.put(joins("alice", "web", "alice.example", "/new"))
	b.put(joins("alice", "more", "more.example", "/"))
	b.put(joins("alice", "more", "more.example", "/more"))
	b.work()
	b.answers("alice.example", "/new", "alice/web")
	b.answers("alice.example", "/old", "404")
	b.answers("more.example", "/more", "alice/web")
	if len(b.find("alice", "more").Status.LoadBalancer.Ingress) == 0 {
		b.Error("the new Ingress of alice has no address")
	}
	b.remove("alice", "web", false)
	b.work()
	b.answers("alice.example", "/new", "404")
	if b.find("alice", "web") != nil {
		b.Error("the Ingress that alice deleted stays")
	}
	if notes := b.notes("alice", "more"); slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, "ChangeWaits") }) {
		b.Errorf("alice hears %q", notes)
	}
}

// A violation holds back the namespace whose Ingress answers, and no other one. What it had before
// stays, and it hears why.
func TestAViolationHoldsItsNamespaceBack(t *testing.T) {
	for name, c := range map[string]struct {
		act   func(sharedBench)
		hears [][]string // of the Ingresses of bob
		old   string     // the answer to bob.example/old
	}{
		"an edit": {
			act: func(b sharedBench) { b.put(joins("bob", "web", "bob.example", "/old", "/admin")) },
			old: "bob/web",
			hears: [][]string{
				{"web", "ExpectationViolated", "the change waits", "curl http://bob.example/admin"},
				{"web", "ChangeWaits", "no-admin", "ConfigMap"},
			},
		},
		"a new Ingress": {
			act:   func(b sharedBench) { b.put(joins("bob", "admin", "admin.example", "/admin")) },
			old:   "bob/web",
			hears: [][]string{{"admin", "ExpectationViolated"}, {"admin", "ChangeWaits"}},
		},
		"a new Ingress beside an edit": {
			act: func(b sharedBench) {
				b.put(joins("bob", "web", "bob.example", "/other"))
				b.put(joins("bob", "admin", "admin.example", "/admin"))
			},
			old:   "bob/web",
			hears: [][]string{{"web", "ChangeWaits"}},
		},
		"an edit of one without a version": {
			act: func(b sharedBench) {
				b.forgetVersions("bob")
				b.put(joins("bob", "web", "bob.example", "/old", "/admin"))
			},
			old:   "404",
			hears: [][]string{{"web", "ChangeWaits", "it is not served"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newGatedShare(t, nil)
			c.act(b)
			b.work()
			b.answers("bob.example", "/old", c.old)
			b.answers("bob.example", "/admin", "404")
			b.answers("admin.example", "/admin", "404")
			for _, parts := range c.hears {
				b.hears("bob", parts[0], parts[1:]...)
			}
			b.checkAliceIsFree()
			for _, take := range []func(){func() {}, b.succeed} { // another operator decides the same
				take()
				for _, name := range []string{"web", "admin"} {
					if ing := b.find("bob", name); ing != nil {
						b.onIngress(t.Context(), ing)
					}
				}
				b.onIngress(t.Context(), b.find("alice", "more"))
				b.work()
				b.answers("bob.example", "/old", c.old)
				b.answers("bob.example", "/admin", "404")
				b.put(joins("alice", "more", "more.example", "/less"))
				b.work()
				b.answers("more.example", "/less", "alice/web")
				b.put(joins("alice", "more", "more.example", "/more"))
				b.work()
			}
			b.put(joins("bob", "web", "bob.example", "/good"))
			b.remove("bob", "admin", false)
			b.work()
			b.answers("bob.example", "/good", "bob/web")
			b.answers("bob.example", "/old", "404")
		})
	}
}

// A namespace that uncovers the path of another one by what it deletes is the one that waits.
func TestADeletionThatUncoversANeighbourWaits(t *testing.T) {
	fixed := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: "denied"}}
	fixed.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
	for name, force := range map[string]bool{"deleted": false, "by force": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newGatedShare(t, func(c *v1alpha1.LoadBalancerClassSpec) { c.Hosts = v1alpha1.HostsShared }, fixed.DeepCopy())
				deny := joins("bob", "deny", "alice.example", "/admin")
				deny.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{
					Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "denied"},
				}
				b.put(deny)
				b.work()
				b.answers("alice.example", "/admin", "403")
				b.put(joins("alice", "root", "alice.example", "/"))
				b.work()
				b.answers("alice.example", "/", "alice/web")
				b.answers("alice.example", "/admin", "403")
				b.remove("bob", "deny", force)
				b.work()
				time.Sleep(2 * b.Grace)
				b.put(joins("alice", "root", "alice.example", "/", "/more"))
				b.work()
				b.answers("alice.example", "/admin", "403")
				b.answers("alice.example", "/more", "alice/web")
				if !force {
					b.hears("bob", "deny", "ChangeWaits", "curl http://alice.example/admin")
				}
				b.put(joins("alice", "root", "alice.example", "/safe"))
				b.work()
				b.answers("alice.example", "/safe", "alice/web")
				b.answers("alice.example", "/more", "404")
				b.answers("alice.example", "/admin", "404")
				if b.find("bob", "deny") != nil {
					t.Error("what bob deleted stays, though it violates nothing now")
				}
			})
		})
	}
}

// What violates an expectation although no Ingress changed is not served, until it is corrected. If
// other Ingresses of the namespace are behind it at the same host, none of these is served.
func TestAReferenceThatViolatesAnExpectation(t *testing.T) {
	for _, behind := range []int{0, 1, 6, 40} {
		t.Run(strconv.Itoa(behind), func(t *testing.T) { testReference(t, behind) })
	}
}

func testReference(t *testing.T, behind int) {
	backend := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: "admin"}}
	backend.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
	b := newGatedShare(t, nil, backend)
	admin := joins("bob", "admin", "admin.example", "/admin")
	admin.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{
		Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "admin"},
	}
	b.put(admin)
	for i := range behind {
		admin.Name = "admin" + strconv.Itoa(i)
		b.put(admin)
	}
	b.work()
	b.answers("admin.example", "/admin", "403")
	edit := func(spec v1alpha1.BackendSpec) {
		t.Helper()
		if err := b.Get(t.Context(), client.ObjectKeyFromObject(backend), backend); err != nil {
			t.Fatal(err)
		}
		backend.Spec = spec
		if err := b.Update(t.Context(), backend); err != nil {
			t.Fatal(err)
		}
		b.work()
	}
	denied := backend.Spec
	edit(v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{{Name: "web", Port: v1alpha1.ServicePort{Number: 80}}}})
	b.answers("admin.example", "/admin", "404")
	b.answers("bob.example", "/old", "bob/web")
	b.hears("bob", "admin", "ChangeWaits", "it is not served")
	b.checkAliceIsFree()
	edit(denied)
	b.answers("admin.example", "/admin", "403")
}

// Without expectations that can be read, a namespace that adds something holds back no other one
// that takes something away.
func TestWithoutExpectationsOnlyWhoAddsWaits(t *testing.T) {
	b := newGatedShare(t, nil)
	if err := b.Delete(t.Context(), ruleBook(noAdmin)); err != nil {
		t.Fatal(err)
	}
	b.put(joins("bob", "web", "bob.example", "/old", "/more"))
	b.remove("alice", "web", false)
	b.work()
	b.answers("alice.example", "/old", "404")
	b.answers("bob.example", "/more", "404")
	b.answers("bob.example", "/old", "bob/web")
	b.hears("bob", "web", "ChangeWaits", "there is no such ConfigMap", "corrected")
	if b.find("alice", "web") != nil {
		t.Error("the Ingress that alice deleted stays")
	}
}

// A violation that no namespace has caused holds the whole plan back, and all whose changes wait
// hear it.
func TestAViolationByTheClassIsToldToAll(t *testing.T) {
	rules := `expectations: [{name: internal, must: {inboundWithin: [10.0.0.0/8]}}]`
	b := newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) {
		gated(c)
		c.Inbound = []string{"10.0.0.0/8"}
	}, ruleBook(rules))
	b.cloud.Inbound = true
	b.put(joins("alice", "web", "alice.example", "/old"))
	b.put(joins("bob", "web", "bob.example", "/"))
	b.work()
	b.answers("bob.example", "/", "bob/web")
	class := &v1alpha1.ClusterLoadBalancerClass{}
	if err := b.Get(t.Context(), client.ObjectKey{Name: "shared"}, class); err != nil {
		t.Fatal(err)
	}
	class.Spec.Inbound = nil
	if err := b.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	b.put(joins("alice", "web", "alice.example", "/new"))
	b.work()
	b.answers("alice.example", "/old", "alice/web")
	b.answers("bob.example", "/", "bob/web")
	b.hears("alice", "web", "ChangeWaits", "internal")
}

// A plan that is not proven because of one namespace is carried out without its changes.
func TestAnUnprovenPlanHoldsItsNamespaceBack(t *testing.T) {
	b := newSharedBench(t, nil)
	b.put(joins("alice", "web", "alice.example", "/old"))
	b.put(joins("bob", "web", "bob.example", "/"))
	b.work()
	b.diff = func(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) plan.Plan {
		p := planner.Diff(seen, want, c)
		ofBob := func(s plan.Planned) bool { return len(s.Origin) > 0 && s.Origin[0].Namespace == "bob" }
		if slices.ContainsFunc(p.Steps, ofBob) {
			return reversed(p)
		}
		return p
	}
	nested := joins("bob", "web", "bob.example", "/")
	nested.Spec.Rules = append(nested.Spec.Rules, below("nested.example", "/", "/admin").Spec.Rules...)
	nested.Spec.Rules[1].HTTP.Paths[1].Backend.Service = &networkingv1.IngressServiceBackend{Name: "other", Port: networkingv1.ServiceBackendPort{Number: 80}}
	b.put(nested)
	changed := joins("alice", "web", "alice.example", "/new") // its target group is the first step
	changed.Spec.Rules[0].HTTP.Paths[0].Backend.Service = toService("other")
	b.put(changed)
	b.work()
	b.answers("alice.example", "/new", "alice/other")
	b.answers("bob.example", "/", "bob/web")
	b.answers("nested.example", "/", "404")
	b.hears("bob", "web", "ChangeWaits", "the plan is not proven", "unprovenPlans: CarryOut")
	if n := b.defects(); n == 0 {
		t.Error("no defect is counted")
	}
	b.checkAliceIsFree()
}

// A second reading has to confirm what a plan deletes, and not the rest of it.
func TestADoubtDelaysDeletionsOnly(t *testing.T) {
	b := newSharedBench(t, nil)
	backend := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "alice", Name: "page"}}
	backend.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 200}
	b.create(backend)
	page := joins("alice", "page", "alice.example", "/")
	page.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{
		Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "page"},
	}
	b.put(page)
	many := joins("bob", "web", "bob.example", "/")
	for i := range 30 { // paths of one Service share a rule
		s := service()
		s.Namespace, s.Name = "bob", "web-"+strconv.Itoa(i)
		b.create(s)
		path := *many.Spec.Rules[0].HTTP.Paths[0].DeepCopy()
		path.Path, path.Backend.Service.Name = "/"+strconv.Itoa(i), s.Name
		many.Spec.Rules[0].HTTP.Paths = append(many.Spec.Rules[0].HTTP.Paths, path)
	}
	b.put(many)
	b.work()
	b.answers("alice.example", "/", "200")
	b.answers("bob.example", "/1", "bob/web-1")
	left := 0 // rules that a reading finds, another number each time
	b.diff = func(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) plan.Plan {
		left++
		for i := range want.Listeners {
			l := &want.Listeners[i]
			l.Rules = slices.Clone(l.Rules)
			n := 0
			l.Rules = slices.DeleteFunc(l.Rules, func(r lb.Rule) bool {
				bobs := len(r.Origin) > 0 && r.Origin[0].Namespace == "bob"
				if bobs {
					n++
				}
				return bobs && n != left
			})
		}
		return planner.Diff(seen, want, c)
	}
	if err := b.Get(t.Context(), client.ObjectKeyFromObject(backend), backend); err != nil {
		t.Fatal(err)
	}
	backend.Spec.FixedResponse.StatusCode = 404
	if err := b.Update(t.Context(), backend); err != nil {
		t.Fatal(err)
	}
	b.work()
	b.answers("alice.example", "/", "404")
	b.answers("bob.example", "/1", "bob/web-1")
	b.answers("bob.example", "/29", "bob/web-29")
	b.diff = planner.Diff
	b.work()
	b.answers("bob.example", "/29", "bob/web-29")
}

// A namespace that changed something of its own, while a neighbour uncovers its path, does not wait
// for the neighbour.
func TestAChangeBesideADeletionThatUncoversIt(t *testing.T) {
	fixed := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: "denied"}}
	fixed.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
	b := newGatedShare(t, func(c *v1alpha1.LoadBalancerClassSpec) { c.Hosts = v1alpha1.HostsShared }, fixed)
	deny := joins("bob", "deny", "alice.example", "/admin")
	deny.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{
		Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "denied"},
	}
	b.put(deny)
	b.put(joins("alice", "root", "alice.example", "/"))
	b.work()
	b.answers("alice.example", "/admin", "403")
	b.remove("bob", "deny", false)
	more := joins("alice", "root", "alice.example", "/", "/more")
	more.Spec.Rules[0].HTTP.Paths[1].Backend.Service = toService("other")
	b.put(more)
	b.work()
	b.answers("alice.example", "/admin", "403")
	b.answers("alice.example", "/more", "alice/other")
}

// After a restart, what a namespace serves is unknown if it is not what was last accepted. What
// others violate already stays known, so that it holds nothing back.
func TestAfterARestartOneNamespaceDecidesForNoOther(t *testing.T) {
	rules := ruleBook(strings.ReplaceAll(noAdmin, "/admin", "/never"))
	b := newSharedBench(t, gated, rules)
	b.put(joins("alice", "web", "alice.example", "/admin"))
	b.put(joins("bob", "web", "bob.example", "/old"))
	b.work()
	rules.Data["rules.yaml"] = noAdmin
	if err := b.Update(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
	b.work()
	b.forgetVersions("bob")
	b.succeed()
	b.put(joins("bob", "web", "bob.example", "/old", "/admin"))
	b.put(joins("alice", "web", "alice.example", "/admin", "/new"))
	b.work()
	b.answers("alice.example", "/admin", "alice/web")
	b.answers("alice.example", "/new", "alice/web")
	b.answers("bob.example", "/admin", "404")
}

// However many namespaces cover each other's violations, each of them is held back, hears so, and
// delays no other one.
func TestViolationsBehindEachOtherDelayNoNeighbour(t *testing.T) {
	for _, n := range []int{3, 4, 9} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			b := newGatedShare(t, func(c *v1alpha1.LoadBalancerClassSpec) { c.Hosts = v1alpha1.HostsShared })
			for i := range n {
				namespace := "m" + strconv.Itoa(i)
				b.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
				s := service()
				s.Namespace = namespace
				b.create(s)
				ing := joins(namespace, "web", "x.example", "/admin")
				ing.UID = types.UID(namespace) // events about it have other names
				b.put(ing)
			}
			b.checkAliceIsFree()
			b.answers("x.example", "/admin", "404")
			for i := range n {
				b.hears("m"+strconv.Itoa(i), "web", "ChangeWaits", "no-admin")
				b.hears("m"+strconv.Itoa(i), "web", "ExpectationViolated", "by Ingress m"+strconv.Itoa(i)+"/web")
			}
		})
	}
}
