package loadbalancer

import (
	"fmt"
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
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/test/nightly"
	testobjects "fairlead.dev/fairlead/test/objects"
)

// This file tests that a namespace cannot harm others with hosts that it gives up, however many it
// has, and however it had them.

// manyHosts returns h0.example and so on.
func manyHosts(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("h%d.example", i))
	}
	return out
}

// violatesFromNow makes answers of /admin violate an expectation that they were permitted by before.
func (r restart) violatesFromNow() {
	r.Helper()
	r.rules("")
	r.rules(noAdmin)
	r.work()
}

var adminForwards = strings.ReplaceAll(noAdmin, "forwarded: false", "forwarded: true")

// newManyHosts returns a load balancer on which a namespace has hosts, with an Ingress each, below the Ingress
// of another one for all hosts, whose answers for /admin violate an expectation from now on.
func newManyHosts(t *testing.T, namespace string, n int, above string) restart {
	t.Helper()
	r := restart{newSharedBench(t, gated, ruleBook(adminForwards)), nil}
	for i := range n {
		r.namesHost(namespace, i)
	}
	r.work()
	r.put(joins(above, "web", "", "/"))
	r.work()
	r.violatesFromNow()
	return r
}

// namesHost has a namespace ask for one of many hosts.
func (r restart) namesHost(namespace string, i int) {
	r.Helper()
	r.put(joins(namespace, "h"+strconv.Itoa(i), manyHosts(i + 1)[i], "/p"))
}

// givesUpHosts has it give up the first ones.
func (r restart) givesUpHosts(namespace string, n int) {
	r.Helper()
	for i := range n {
		r.remove(namespace, "h"+strconv.Itoa(i), false)
	}
}

// settle reconciles a few times.
func (r restart) settle() {
	r.Helper()
	for range 3 {
		r.work()
		time.Sleep(time.Hour)
	}
}

// Bob lists 11 hosts in spec.tls of an Ingress with rules without a host, and deletes it.
func TestListedHostsThatAreGivenUp(t *testing.T) {
	for _, changes := range []bool{false, true} {
		t.Run(fmt.Sprintf("alice changes %t", changes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testListedHosts(t, changes) })
		})
	}
}

func testListedHosts(t *testing.T, changes bool) {
	r := restart{newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) {
		gated(c)
		c.ListenPorts = []v1alpha1.ListenPort{{Protocol: "HTTP", Port: 80}, {Protocol: "HTTPS", Port: 443}}
	}, ruleBook(adminForwards)), nil}
	secret, err := testobjects.Secret("bob/tls", manyHosts(11))
	if err != nil {
		t.Fatal(err)
	}
	secret.UID = types.UID("bobs")
	r.create(secret)
	ing := joins("bob", "web", "", "/p")
	ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: manyHosts(11), SecretName: "tls"}}
	r.put(ing)
	r.work()
	r.put(joins("alice", "web", "*.example", "/"))
	r.put(joins("alice", "shop", "shop.alice", "/"))
	r.put(joins("carol", "web", "carol.other", "/old"))
	r.work()
	r.violatesFromNow()
	r.answers("z.example", "/", "alice/web")
	r.remove("bob", "web", false)
	if changes {
		r.put(joins("alice", "new", "new.alice", "/x"))
	}
	r.put(joins("carol", "web", "carol.other", "/x"))
	r.settle()
	r.answers("z.example", "/", "alice/web")
	r.answers("shop.alice", "/", "alice/web")
	r.answers("carol.other", "/x", "carol/web")
	r.answers("carol.other", "/old", "404")
	if changes {
		r.answers("new.alice", "/x", "alice/web")
	}
}

// The cloud denies a step of bob, while he gives up 11 hosts below carol's Ingress for all hosts.
func TestHostsThatAreGivenUpBesideADeniedStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newManyHosts(t, "bob", 11, "carol")
		r.denies("bob/other")
		bad := joins("bob", "bad", "bad.bob", "/bad")
		bad.Spec.Rules[0].HTTP.Paths[0].Backend.Service = toService("other")
		r.put(bad)
		r.work()
		r.givesUpHosts("bob", 11)
		r.put(joins("alice", "new", "alice.new", "/"))
		r.settle()
		r.answers("z.example", "/x", "carol/web")
		r.answers("alice.new", "/x", "alice/web")
	})
}

// denies has the cloud deny steps whose ID or detail has a text.
func (r restart) denies(part string) {
	r.cloud.Refuses = func(s plan.Step) error {
		if strings.Contains(s.ID()+s.Detail(), part) {
			return stepErrors["Denied"]
		}
		return nil
	}
}

// Hosts that are named again do not count, though a step of a neighbour is denied for good.
func TestClosedHostsThatAreNamedAgainDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newManyHosts(t, "alice", 12, "carol")
		r.givesUpHosts("alice", 10)
		r.work()
		if hosts, _ := r.closed(); len(hosts) != 10 {
			t.Errorf("closed are %q", hosts)
		}
		r.denies("bob/")
		r.put(joins("bob", "bad", "bad.bob", "/bad"))
		r.work()
		for i := range 10 {
			r.namesHost("alice", i)
		}
		r.settle()
		if hosts, _ := r.closed(); len(hosts) != 0 {
			t.Errorf("closed are %q", hosts)
		}
		r.remove("alice", "h10", false)
		r.remove("alice", "h11", false)
		r.work()
		if hosts, _ := r.closed(); !slices.Equal(hosts, []string{"h10.example", "h11.example"}) {
			t.Errorf("closed are %q", hosts)
		}
		r.answers("z.example", "/x", "carol/web")
		r.answers("h0.example", "/p", "alice/web")
		r.answers("h10.example", "/p", "404")
	})
}

// Alice has ten closed hosts, and an Ingress that moves from an eleventh host to one of these: the
// one opens as the other is closed.
func TestAClosedHostInPlaceOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newManyHosts(t, "alice", 11, "bob")
		r.givesUpHosts("alice", 10)
		r.work()
		r.put(joins("alice", "h10", "h0.example", "/p"))
		r.settle()
		r.answers("h0.example", "/p", "alice/web")
		r.answers("h10.example", "/p", "404")
	})
}

// What could not be searched at a host that is given up is closed there, and nothing waits; the Ingress
// with the expensive paths stays, though its namespace changes something else.
func TestAnUndecidedHostIsClosed(t *testing.T) {
	if testing.Short() {
		t.Skip("it searches until its budget is used up")
	}
	for _, changes := range nightly.Some(t, 2, []bool{false, true}) {
		t.Run(fmt.Sprintf("bob changes %t", changes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testUndecidedHost(t, changes) })
		})
	}
}

func testUndecidedHost(t *testing.T, changes bool) {
	denied := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: "denied"}}
	denied.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
	r := restart{newSharedBench(t, gated, ruleBook(`
expectations:
- name: no-env
  requests: {hosts: [a.example], paths: [{glob: "/*.environment.backup"}]}
  must: {forwarded: false}
`), denied), nil}
	ing := joins("alice", "web", "a.example", "/p")
	ing.Spec.Rules[0].HTTP.Paths[0].PathType = new(networkingv1.PathTypeExact)
	r.put(ing)
	r.put(joins("alice", "second", "second.alice", "/p"))
	r.put(joins("bob", "shop", "shop.bob", "/"))
	r.put(joins("carol", "web", "carol.example", "/p"))
	r.work()
	ing = joins("bob", "web", "", append(expensiveGlobs(5), "/*.environment.backup")...)
	all := ing.Spec.Rules[0].HTTP.Paths
	for i := range all {
		all[i].PathType = new(networkingv1.PathTypeImplementationSpecific)
	}
	all[5].Backend = networkingv1.IngressBackend{
		Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "denied"},
	}
	r.put(ing)
	r.work()
	r.remove("alice", "web", false)
	r.remove("alice", "second", false)
	r.put(joins("carol", "web", "carol.example", "/new"))
	if changes {
		r.put(joins("bob", "new", "new.bob", "/"))
	}
	r.work()
	r.answers("a.example", "/p", "404")
	r.answers("second.alice", "/p", "404")
	r.answers("carol.example", "/new", "carol/web")
	r.answers("shop.bob", "/", "bob/web")
	r.answers("z.example", "/x.environment.backup", "403")
	if changes {
		r.answers("new.bob", "/", "bob/web")
	}
	r.hears("bob", "web", "HostClosed", "could not be decided")
}

// expensiveGlobs are paths whose combinations are too many to search.
func expensiveGlobs(n int) (out []string) {
	for i := range n {
		s := "/"
		for j := range 5 {
			s += "*" + string(rune('a'+(i*7+j*3)%26)) + string(rune('a'+(i*5+j*11)%26))
		}
		out = append(out, s+"*")
	}
	return out
}

// A wildcard that is given up is one closed host, however many hosts below it expectations name.
func TestAWildcardAboveManyHostsIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := strings.ReplaceAll(noAdminAtA, "a.example", strings.Join(manyHosts(12), ", "))
		r := restart{newSharedBench(t, gated, ruleBook(book)), nil}
		r.put(joins("alice", "web", "*.example", "/p"))
		r.put(joins("alice", "below", "below.example", "/p"))
		r.work()
		r.put(joins("bob", "web", "", "/"))
		r.work()
		r.remove("alice", "web", false)
		r.put(joins("alice", "new", "new.other", "/x"))
		r.put(joins("carol", "new", "carol.other", "/x"))
		for range 2 {
			r.settle()
			r.answers("h1.example", "/p", "404")
			r.answers("below.example", "/p", "alice/web")
			r.answers("new.other", "/x", "alice/web")
			r.answers("carol.other", "/x", "carol/web")
			r.answers("z.other", "/admin", "bob/web")
			if hosts, told := r.closed(); !slices.Equal(hosts, []string{"*.example"}) || !told {
				t.Errorf("closed are %q, and bob is told: %t", hosts, told)
			}
			r.takeOver()
		}
	})
}

// Wildcards of two namespaces are given up: neither counts for the other.
func TestWildcardsOfTwoNamespacesAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := []string{"x.alice.example"}
		for i := range 10 {
			hosts = append(hosts, fmt.Sprintf("h%d.bob.example", i))
		}
		book := strings.ReplaceAll(noAdminAtA, "a.example", strings.Join(hosts, ", "))
		r := restart{newSharedBench(t, gated, ruleBook(book)), nil}
		r.put(joins("alice", "web", "*.alice.example", "/p"))
		r.put(joins("alice", "second", "second.alice", "/p"))
		r.put(joins("bob", "web", "*.bob.example", "/p"))
		r.work()
		r.put(joins("carol", "web", "", "/"))
		r.work()
		r.remove("bob", "web", false)
		r.work()
		r.remove("alice", "web", false)
		r.remove("alice", "second", false)
		r.put(joins("dave", "new", "dave.other", "/x"))
		r.settle()
		r.answers("x.alice.example", "/p", "404")
		r.answers("h3.bob.example", "/p", "404")
		r.answers("dave.other", "/x", "dave/web")
		r.answers("second.alice", "/p", "carol/web")
	})
}

// The record has no versions of bob, so that no Ingress of his can wait: each host is closed.
func TestHostsOfForgottenVersionsThatAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newManyHosts(t, "bob", 11, "alice")
		r.put(joins("carol", "web", "carol.example", "/p"))
		r.work()
		r.forgetVersions("bob")
		r.givesUpHosts("bob", 11)
		r.put(joins("carol", "web", "carol.example", "/new"))
		r.put(joins("alice", "new", "alice.other", "/x"))
		r.settle()
		r.answers("carol.example", "/new", "carol/web")
		r.answers("alice.other", "/x", "alice/web")
		r.answers("z.example", "/", "alice/web")
		r.answers("h10.example", "/p", "404")
	})
}

// A Backend of bob makes 11 hosts violate an expectation, and his Ingress is left out: alice's Ingress for
// all hosts stays, and is kept from these hosts by the rules that the cloud has of his.
func TestHostsThatAreLeftOutHarmNoNeighbour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: "admin"}}
		backend.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
		book := strings.ReplaceAll(noAdminAtA, "a.example", strings.Join(manyHosts(11), ", "))
		r := restart{newSharedBench(t, gated, ruleBook(book), backend), nil}
		web := joins("bob", "web", "h0.example", "/admin")
		web.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{
			Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "admin"},
		}
		for _, host := range manyHosts(11)[1:] {
			rule := *web.Spec.Rules[0].DeepCopy()
			rule.Host = host
			web.Spec.Rules = append(web.Spec.Rules, rule)
		}
		r.put(web)
		r.work()
		r.put(joins("alice", "web", "", "/"))
		r.work()
		r.answers("h10.example", "/admin", "403")
		r.answers("z.example", "/", "alice/web")
		if err := r.Get(t.Context(), client.ObjectKeyFromObject(backend), backend); err != nil {
			t.Fatal(err)
		}
		backend.Spec = v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{
			{Name: "web", Port: v1alpha1.ServicePort{Number: 80}},
		}}
		if err := r.Update(t.Context(), backend); err != nil {
			t.Fatal(err)
		}
		r.put(joins("carol", "web", "carol.example", "/new"))
		r.settle()
		r.answers("h10.example", "/admin", "403")
		r.answers("z.example", "/", "alice/web")
		r.answers("carol.example", "/new", "carol/web")
	})
}

// With precedence: Order and hosts: Shared, a host that is given up on one port is closed there.
func TestAHostThatIsGivenUpOnOnePort(t *testing.T) {
	for _, order := range []bool{false, true} {
		t.Run(fmt.Sprintf("order %t", order), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				denied := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "alice", Name: "denied"}}
				denied.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
				r := restart{newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) {
					gated(c)
					c.Hosts = v1alpha1.HostsShared
					c.ListenPorts = []v1alpha1.ListenPort{{Protocol: "HTTP", Port: 80}, {Protocol: "HTTP", Port: 8080}}
					if order {
						c.Precedence = "Order"
					}
				}, ruleBook(noAdminAtA), denied), nil}
				on := func(ports string) {
					ing := aliceWeb(true, "a.example")
					ing.Annotations["fairlead.dev/listen-ports"] = ports
					r.put(ing)
				}
				on("HTTP:80,HTTP:8080")
				r.work()
				r.put(joins("bob", "web", "", "/"))
				r.work()
				r.answers("a.example", "/admin", "403")
				on("HTTP:8080")
				r.put(joins("avery", "web", "avery.example", "/new"))
				r.settle()
				r.answers("a.example", "/p", "404")
				r.answers("a.example", "/admin", "404")
				r.answers("avery.example", "/new", "avery/web")
				r.answers("z.example", "/admin", "bob/web")
			})
		})
	}
}

// Bob lists hosts in spec.tls, so that they are his on the HTTPS port. Carol gives up the wildcard above
// them on the HTTP port: this is a closed host of hers, and bob can give up another one.
func TestHostsThatAreListedForAnotherPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := manyHosts(mostClosed)
		secret, err := testobjects.Secret("bob/tls", hosts)
		if err != nil {
			t.Fatal(err)
		}
		secret.UID = "bobs"
		book := strings.ReplaceAll(noAdminAtA, "a.example", strings.Join(append(hosts, "own.bob"), ", "))
		r := restart{newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) {
			gated(c)
			c.Hosts = v1alpha1.HostsShared
			c.ListenPorts = []v1alpha1.ListenPort{{Protocol: "HTTP", Port: 80}, {Protocol: "HTTPS", Port: 443}}
		}, ruleBook(book), secret), nil}
		listed := joins("bob", "listed", "", "/p")
		listed.Annotations["fairlead.dev/listen-ports"] = "HTTPS:443"
		listed.Spec.TLS = []networkingv1.IngressTLS{{Hosts: hosts, SecretName: "tls"}}
		r.put(listed)
		r.put(joins("bob", "own", "own.bob", "/p"))
		r.put(joins("carol", "wild", "*.example", "/p"))
		r.work()
		r.put(joins("alice", "web", "", "/"))
		r.work()
		r.answers("h1.example", "/p", "carol/web")
		r.remove("carol", "wild", false)
		r.work()
		r.remove("bob", "own", false)
		r.work()
		r.answers("h1.example", "/admin", "404")
		r.answers("own.bob", "/p", "404")
		if hosts, _ := r.closed(); !slices.Equal(hosts, []string{"*.example", "own.bob"}) || r.find("bob", "own") != nil {
			t.Errorf("closed are %q, and what bob deleted stays: %t", hosts, r.find("bob", "own") != nil)
		}
	})
}

// The class takes 11 hosts from bob, below alice's Ingress for all hosts. No Ingress of bob can wait, so all 11 hosts
// are closed, and alice's changes do not wait.
func TestHostsThatTheClassTakesAwayAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fighter{}
		r := restart{newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) {
			gated(c)
			c.AllowedHosts = []v1alpha1.AllowedHosts{
				f.hostsOf("alice", "*"), f.hostsOf("bob", append(manyHosts(11), "other.bob")...), f.hostsOf("carol", "carol.other"),
			}
		}, ruleBook(adminForwards)), nil}
		for i := range 11 {
			r.namesHost("bob", i)
		}
		r.put(joins("carol", "web", "carol.other", "/old"))
		r.work()
		r.put(joins("alice", "web", "", "/"))
		r.work()
		r.violatesFromNow()
		r.answers("h10.example", "/p", "bob/web")
		r.answers("z.other", "/", "alice/web")
		class := &v1alpha1.ClusterLoadBalancerClass{}
		if err := r.Get(t.Context(), client.ObjectKey{Name: "shared"}, class); err != nil {
			t.Fatal(err)
		}
		class.Spec.AllowedHosts[1] = f.hostsOf("bob", "other.bob")
		if err := r.Update(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		r.put(joins("carol", "web", "carol.other", "/new"))
		r.settle()
		r.answers("carol.other", "/new", "carol/web")
		for _, host := range manyHosts(11) {
			r.answers(host, "/admin", "404")
		}
		r.answers("z.other", "/", "alice/web")
	})
}

// Carol's wildcard keeps a path of dave's host from alice's Ingress for all hosts, and goes, while dave changes
// another path: carol waits, and he does not.
func TestAnAnswerByALessSpecificHostIsGivenUp(t *testing.T) {
	denied := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "carol", Name: "denied"}}
	denied.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
	r := restart{newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) {
		gated(c)
		c.Hosts, c.HostMiss = v1alpha1.HostsShared, v1alpha1.HostMissLessSpecific
	}, ruleBook(noAdminAtA), denied), nil}
	r.put(joins("dave", "web", "a.example", "/x"))
	deny := joins("carol", "deny", "*.example", "/admin")
	deny.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{
		Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "denied"},
	}
	r.put(deny)
	r.work()
	r.put(joins("alice", "web", "", "/"))
	r.work()
	r.answers("a.example", "/admin", "403")
	r.answers("a.example", "/", "alice/web")
	r.remove("carol", "deny", false)
	dave := joins("dave", "web", "a.example", "/y")
	dave.Spec.Rules[0].HTTP.Paths[0].Backend.Service = toService("other")
	r.put(dave)
	r.work()
	r.answers("a.example", "/y", "dave/other")
	r.answers("a.example", "/admin", "403")
	r.hears("carol", "deny", "ChangeWaits", "no-admin")
}
