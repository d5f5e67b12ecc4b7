package loadbalancer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/nightly"
)

// This file tests that a namespace can give up a host that an expectation names, though another one
// has an Ingress for all hosts, or a wildcard, that would violate it there: the host answers 404.

const noAdminAtA = `
expectations:
- name: no-admin
  requests: {hosts: [a.example], paths: [{prefix: /admin}]}
  must: {forwarded: false}
`

// aliceWeb is the Ingress alice/web: a path for each host and, if it answers, a Backend with 403 for
// /admin of the first one.
func aliceWeb(answers bool, hosts ...string) *networkingv1.Ingress {
	ing := joins("alice", "web", hosts[0], "/p")
	for _, host := range hosts[1:] {
		ing.Spec.Rules = append(ing.Spec.Rules, below(host, "/p").Spec.Rules...)
	}
	if answers {
		http := ing.Spec.Rules[0].HTTP
		http.Paths = append(http.Paths, *http.Paths[0].DeepCopy())
		http.Paths[1].Path = "/admin"
		http.Paths[1].Backend = networkingv1.IngressBackend{
			Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "denied"},
		}
	}
	return ing
}

// newGivenUp is a share in which alice has a.example, and bob what would answer for it without her.
func newGivenUp(t *testing.T, bobs string, answers bool) restart {
	t.Helper()
	denied := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "alice", Name: "denied"}}
	denied.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
	r := restart{newSharedBench(t, gated, ruleBook(noAdminAtA), denied), nil}
	r.put(aliceWeb(answers, "a.example", "two.other"))
	r.put(joins("alice", "old", "old.other", "/"))
	r.work()
	r.put(joins("bob", "web", bobs, "/"))
	r.work()
	r.answers("a.example", "/p", "alice/web")
	r.answers("a.example", "/admin", map[bool]string{true: "403", false: "404"}[answers])
	r.answers("z.example", "/admin", "bob/web")
	return r
}

// rules replaces the expectations; "" deletes the ConfigMap.
func (r restart) rules(text string) {
	r.Helper()
	book := ruleBook(text)
	if err := r.Delete(r.Context(), book); err != nil && text == "" {
		r.Fatal(err)
	}
	if text != "" {
		r.create(book)
	}
}

// checkGivenUp checks that a.example is closed, that nothing of alice waits, and that bob is served
// elsewhere.
func (r restart) checkGivenUp() {
	r.Helper()
	for _, path := range []string{"/", "/p", "/admin"} {
		r.answers("a.example", path, "404")
	}
	r.answers("z.example", "/admin", "bob/web")
	for _, name := range []string{"web", "old", "new"} {
		for _, n := range r.notes("alice", name) {
			if strings.HasPrefix(n, "ChangeWaits") {
				r.Errorf("%s of alice waits: %s", name, n)
			}
		}
	}
}

// degraded returns the message of the condition Degraded; "" if it is false.
func (r restart) degraded() string {
	c := meta.FindStatusCondition(r.Records.Get(sharedKey).Conditions, v1alpha1.ConditionDegraded)
	if c == nil || c.Status != "True" {
		return ""
	}
	return c.Reason + ": " + c.Message
}

func (r restart) isProgrammed() bool {
	return meta.IsStatusConditionTrue(r.Records.Get(sharedKey).Conditions, v1alpha1.ConditionProgrammed)
}

// Whatever alice does to give up her host, it is carried out, with all that she changes beside it,
// before or after a restart, and with or without expectations that can be read.
func TestAHostThatIsGivenUpIsClosed(t *testing.T) {
	moves := map[string]func(restart, bool){
		"deletes": func(r restart, _ bool) { r.remove("alice", "web", false) },
		"renames": func(r restart, answers bool) { r.put(aliceWeb(answers, "b.else", "two.other")) },
		"narrows": func(r restart, _ bool) { r.put(aliceWeb(false, "two.other")) },
	}
	type moving struct {
		move string
		givenUp
	}
	var all []moving
	for _, move := range slices.Sorted(maps.Keys(moves)) {
		for _, bobs := range []string{"*.example", ""} {
			for i := range 8 {
				c := givenUp{bobs: bobs, answers: i&1 > 0, unread: i&2 > 0, restarted: i&4 > 0}
				if move != "renames" || !c.unread { // it would add a host
					all = append(all, moving{move, c})
				}
			}
		}
	}
	for _, c := range nightly.Some(t, len(all), all) {
		t.Run(fmt.Sprintf("%s %+v", c.move, c.givenUp), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.test(t, moves[c.move]) })
		})
	}
}

type givenUp struct {
	bobs      string // the host of his Ingress
	answers   bool   // alice answers what the expectation is about
	unread    bool   // the expectations cannot be read then
	restarted bool
}

func (c givenUp) test(t *testing.T, act func(restart, bool)) {
	r := newGivenUp(t, c.bobs, c.answers)
	if c.unread {
		r.rules("")
	}
	act(r, c.answers)
	r.remove("alice", "old", false)
	if !c.unread {
		r.put(joins("alice", "new", "new.other", "/"))
	}
	if c.restarted {
		r.takeOver()
	}
	r.work()
	r.checkGivenUp()
	if r.find("alice", "old") != nil {
		t.Error("what alice deleted beside it stays")
	}
	if got := r.answer("old.other", "/"); got == "alice/web" {
		t.Error("what alice deleted beside it is served")
	}
	if c.unread {
		r.hears("bob", "web", "HostClosed", "a.example", "there is no such ConfigMap", "404")
	} else {
		r.answers("new.other", "/", "alice/web")
		r.hears("bob", "web", "HostClosed", "a.example", "no-admin", "404", "curl http://a.example/admin")
	}
	if told := r.degraded(); !strings.Contains(told, "a.example") || !r.isProgrammed() {
		t.Errorf("Degraded is %q, and Programmed %t", told, r.isProgrammed())
	}
	for range 3 { // it stays closed, for any later operator
		r.takeOver()
		time.Sleep(40 * time.Minute)
		r.work()
		r.checkGivenUp()
	}
}

// closed returns the closed hosts of the record, and the Ingresses of bob that are told of one.
func (r restart) closed() (hosts []string, told bool) {
	record := r.Records.Get(sharedKey)
	for _, c := range record.Memory.ClosedHosts {
		hosts = append(hosts, c.Host)
	}
	return hosts, slices.ContainsFunc(record.Diagnostics, func(d v1alpha1.Diagnostic) bool {
		return d.Reason == string(diag.HostClosed)
	})
}

// A host is open again as soon as nothing rules the answer for it out, or a rule names it.
func TestAClosedHostOpens(t *testing.T) {
	own := func(namespace string) func(restart) {
		return func(r restart) {
			r.put(joins(namespace, "own", "a.example", "/p"))
		}
	}
	for name, c := range map[string]struct {
		act   func(restart)
		bobs  string
		wants string // to a.example/p
		holds string // a host that stays closed
	}{
		"the expectation is changed": {wants: "bob/web", act: func(r restart) {
			r.rules("")
			r.rules(strings.ReplaceAll(noAdminAtA, "forwarded: false", "forwarded: true"))
		}},
		"the class has none any more": {wants: "bob/web", act: func(r restart) {
			class := &v1alpha1.ClusterLoadBalancerClass{}
			if err := r.Get(r.Context(), client.ObjectKey{Name: "shared"}, class); err != nil {
				r.Fatal(err)
			}
			class.Spec.Expectations = nil
			if err := r.Update(r.Context(), class); err != nil {
				r.Fatal(err)
			}
		}},
		"the class does not let bob cover it": {wants: "404", act: func(r restart) {
			class := &v1alpha1.ClusterLoadBalancerClass{}
			if err := r.Get(r.Context(), client.ObjectKey{Name: "shared"}, class); err != nil {
				r.Fatal(err)
			}
			class.Spec.AllowedHosts = []v1alpha1.AllowedHosts{{Hosts: []string{"*.other"}}}
			if err := r.Update(r.Context(), class); err != nil {
				r.Fatal(err)
			}
		}},
		"bob deletes his Ingress":  {wants: "404", act: func(r restart) { r.remove("bob", "web", false) }},
		"bob covers it no more":    {wants: "404", act: func(r restart) { r.put(joins("bob", "web", "bob.example", "/")) }},
		"bob answers it otherwise": {wants: "bob/web", act: func(r restart) { r.put(joins("bob", "web", "", "/p")) }},
		"alice names it again":     {wants: "alice/web", act: own("alice")},
		"carol names it":           {wants: "carol/web", act: own("carol"), bobs: "other"},
		"alice names it in one that is refused": {wants: "404", holds: "a.example", act: func(r restart) {
			ing := joins("alice", "own", "a.example", "/p")
			ing.Annotations["fairlead.dev/health-check-path"] = "not a path"
			r.put(ing)
		}},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarted %t", name, restarted), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newGivenUp(t, "", false)
					r.remove("alice", "web", false)
					r.work()
					r.checkGivenUp()
					if hosts, told := r.closed(); !slices.Equal(hosts, []string{"a.example"}) || !told {
						t.Errorf("closed are %q, and bob is told: %t", hosts, told)
					}
					time.Sleep(2 * time.Hour) // it is reserved for alice no longer
					if c.act(r); restarted {
						r.takeOver()
					}
					r.work()
					r.answers("a.example", "/p", c.wants)
					hosts, told := r.closed()
					if open := c.holds == ""; open != (len(hosts) == 0) || open == told || open != (r.degraded() == "") {
						t.Errorf("closed are %q, bob is told: %t, and Degraded is %q", hosts, told, r.degraded())
					}
				})
			})
		}
	}
}

// What bob changes beside a host that is closed for his Ingress is carried out, unless it violates
// something itself; so is what others change.
func TestChangesBesideAClosedHost(t *testing.T) {
	for _, bobs := range []string{"*.example", ""} {
		t.Run(bobs, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newGivenUp(t, bobs, true)
				r.rules("")
				r.rules(noAdminAtA + "- {name: only-web, requests: {hosts: [bob.else], paths: [{prefix: /admin}]}, must: {services: [bob/web]}}")
				r.remove("alice", "web", false)
				r.work()
				r.checkGivenUp()
				edit := func(paths ...string) {
					ing := joins("bob", "web", bobs, paths...)
					for i := range paths[1:] {
						ing.Spec.Rules[0].HTTP.Paths[i+1].Backend.Service = toService("other")
					}
					r.put(ing)
				}
				for _, take := range []func(){func() {}, r.takeOver} {
					edit("/", "/more")
					take()
					r.put(joins("carol", "web", "carol.else", "/old"))
					r.work()
					r.checkGivenUp()
					r.answers("z.example", "/more", "bob/other")
					r.answers("carol.else", "/old", "carol/web")
					edit("/")
					r.put(joins("carol", "web", "carol.else", "/new"))
					take()
					r.work()
					r.checkGivenUp()
					r.answers("z.example", "/more", "bob/web")
					r.answers("carol.else", "/new", "carol/web")
				}
				if notes := r.notes("bob", "web"); slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, "ChangeWaits") }) {
					t.Errorf("bob hears %q", notes)
				}
				admin := joins("bob", "admin", "bob.else", "/admin")
				admin.Spec.Rules[0].HTTP.Paths[0].Backend.Service = toService("other")
				r.put(admin)
				r.put(joins("alice", "new", "new.other", "/"))
				r.work()
				r.checkGivenUp()
				r.hears("bob", "admin", "ChangeWaits", "only-web")
				r.answers("new.other", "/", "alice/web")
				if got := r.answer("bob.else", "/admin"); got == "bob/other" {
					t.Errorf("bob.else/admin is answered by %s", got)
				}
				if told := r.degraded(); !strings.Contains(told, "bob.else") || !strings.Contains(told, "host a.example, which namespace alice has given up, answers 404") || r.isProgrammed() {
					t.Errorf("Degraded is %q, and Programmed %t", told, r.isProgrammed())
				}
			})
		})
	}
}

// A host that has to be answered is not closed. The Ingress that gives it up waits, and nothing else
// of its namespace.
func TestAHostThatMustBeAnsweredIsNotClosed(t *testing.T) {
	for name, must := range map[string]string{
		"answered": "{answered: true, namespaces: [alice]}",
		"statuses": "{statuses: [403]}",
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarted %t", name, restarted), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newGivenUp(t, "", true)
					r.rules("")
					r.rules(strings.ReplaceAll(noAdminAtA, "{forwarded: false}", must))
					r.work()
					r.remove("alice", "web", false)
					r.remove("alice", "old", false)
					r.put(joins("alice", "new", "new.other", "/"))
					if restarted {
						r.takeOver()
					}
					for range 3 {
						r.work()
						r.answers("a.example", "/admin", "403")
						r.answers("new.other", "/", "alice/web")
						r.answers("old.other", "/", "bob/web")
						r.takeOver()
						time.Sleep(time.Hour)
					}
					r.hears("alice", "web", "ChangeWaits", "no-admin")
					if r.find("alice", "old") != nil {
						t.Error("another Ingress that alice deleted stays")
					}
					if hosts, told := r.closed(); len(hosts) > 0 || told {
						t.Errorf("closed are %q, and bob is told: %t", hosts, told)
					}
					r.rules("")
					r.rules(noAdminAtA)
					r.work()
					r.answers("a.example", "/admin", "404")
					if r.find("alice", "web") != nil {
						t.Error("the Ingress that alice deleted stays")
					}
				})
			})
		}
	}
}

// What a namespace gives up can be a wildcard, and more than one host on more than one port.
func TestAWildcardThatIsGivenUpIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := restart{newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) {
			gated(c)
			c.ListenPorts = []v1alpha1.ListenPort{{Protocol: "HTTP", Port: 80}, {Protocol: "HTTP", Port: 8080}}
		}, ruleBook(strings.ReplaceAll(noAdminAtA, "a.example", "'*.a.example', b.example"))), nil}
		r.put(joins("carol", "web", "carol.a.example", "/p"))
		r.work()
		r.put(aliceWeb(false, "*.a.example", "b.example"))
		r.work()
		r.put(joins("bob", "web", "", "/"))
		r.work()
		r.answers("x.a.example", "/p", "alice/web")
		r.remove("alice", "web", false)
		for range 3 {
			r.work()
			for _, host := range []string{"x.a.example", "b.example"} {
				r.answers(host, "/admin", "404")
				r.answers(host, "/p", "404")
			}
			r.answers("y.x.a.example", "/admin", "bob/web")
			r.answers("carol.a.example", "/p", "carol/web")
			r.answers("z.example", "/admin", "bob/web")
			r.takeOver()
			time.Sleep(time.Hour)
		}
		if r.find("alice", "web") != nil {
			t.Error("the Ingress that alice deleted stays")
		}
		n := 0
		for _, d := range r.Records.Get(sharedKey).Diagnostics {
			if d.Reason == string(diag.HostClosed) {
				n++
			}
		}
		if hosts, _ := r.closed(); n != 2 || !slices.Equal(hosts, []string{"*.a.example", "*.a.example", "b.example", "b.example"}) {
			t.Errorf("closed are %q, and bob is told %d times", hosts, n)
		}
	})
}

// A namespace has a few closed hosts. What it gives up beyond that waits, and nothing else.
func TestClosedHostsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles a hundred Ingresses again and again")
	}
	synctest.Test(t, func(t *testing.T) {
		book := ruleBook(strings.ReplaceAll(noAdmin, "forwarded: false", "forwarded: true"))
		r := restart{newSharedBench(t, gated, book), nil}
		wave := func(from int) {
			for i := range 15 {
				r.put(joins("alice", "h"+strconv.Itoa(from+i), fmt.Sprintf("h%d.example", from+i), "/p"))
			}
			r.work()
		}
		wave(50)
		r.put(joins("bob", "web", "", "/"))
		r.work()
		r.rules("")
		r.rules(noAdmin) // bob violates it from the beginning
		r.work()
		r.answers("z.example", "/admin", "bob/web")
		for _, from := range []int{50, 10} {
			wave(from)
			for i := range 15 {
				r.remove("alice", "h"+strconv.Itoa(from+i), false)
			}
			r.put(joins("alice", "more", "more.example", "/"+strconv.Itoa(from)))
			r.put(joins("carol", "web", "carol.example", "/"+strconv.Itoa(from)))
			for range 3 {
				r.work()
				r.answers("more.example", "/"+strconv.Itoa(from), "alice/web")
				r.answers("carol.example", "/"+strconv.Itoa(from), "carol/web")
				for i := range 15 {
					if got := r.answer(fmt.Sprintf("h%d.example", from+i), "/admin"); got != "404" {
						t.Errorf("h%d.example/admin is answered by %s", from+i, got)
					}
				}
				if hosts, _ := r.closed(); len(hosts) != mostClosed {
					t.Errorf("%d hosts are closed: %q", len(hosts), hosts)
				}
				r.takeOver()
				time.Sleep(2 * time.Hour)
			}
			r.hears("alice", "h"+strconv.Itoa(from+14), "ChangeWaits", "no-admin")
		}
		r.put(joins("bob", "web", "bob.example", "/p")) // all are free
		r.work()
		if hosts, told := r.closed(); len(hosts) > 0 || told || r.find("alice", "h24") != nil {
			t.Errorf("closed are %q, and bob is told: %t", hosts, told)
		}
	})
}

// Of two namespaces on one host, one that uncovers a path of the other is the one that waits, and with
// it only the Ingress, though no rule is deleted. When both give the host up, it is closed.
func TestAHostOfTwoNamespacesIsClosedAfterTheLast(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarted %t", restarted), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				denied := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "alice", Name: "denied"}}
				denied.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
				r := restart{newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) {
					gated(c)
					c.Hosts = v1alpha1.HostsShared
				}, ruleBook(noAdminAtA), denied), nil}
				work := func() {
					if restarted {
						r.takeOver()
					}
					r.work()
				}
				r.put(aliceWeb(true, "a.example"))
				r.work()
				r.put(joins("carol", "web", "a.example", "/"))
				r.put(joins("bob", "web", "*.example", "/"))
				r.work()
				r.answers("a.example", "/admin", "403")
				r.answers("a.example", "/", "carol/web")

				ing := aliceWeb(true, "a.example")
				ing.Spec.Rules[0].HTTP.Paths[1].Path = "/else"
				r.put(ing)
				r.put(joins("alice", "new", "new.other", "/"))
				r.put(joins("carol", "new", "carol.other", "/"))
				work()
				r.answers("a.example", "/admin", "403")
				r.answers("new.other", "/", "alice/web")
				r.answers("carol.other", "/", "carol/web")
				r.hears("alice", "web", "ChangeWaits", "no-admin")

				r.remove("carol", "web", false)
				work()
				r.answers("a.example", "/admin", "404")
				r.answers("a.example", "/else", "403")
				r.answers("a.example", "/", "404")
				r.remove("alice", "web", false)
				work()
				r.answers("a.example", "/else", "404")
				r.answers("a.example", "/admin", "404")
				r.answers("z.example", "/admin", "bob/web")
				if r.find("alice", "web") != nil || r.find("carol", "web") != nil {
					t.Error("what was deleted stays")
				}
				if hosts, told := r.closed(); !slices.Equal(hosts, []string{"a.example"}) || !told {
					t.Errorf("closed are %q, and bob is told: %t", hosts, told)
				}
			})
		})
	}
}

// A host that is given up while the Backend of what covers it changes is closed. If the Backend
// violates more, its Ingress is not served.
func TestAHostIsGivenUpAsABackendChanges(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		for _, more := range []bool{false, true} {
			t.Run(fmt.Sprintf("more %t, restarted %t", more, restarted), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRestart(t, nil)
					if !more {
						r.rules("")
						r.rules(noAdminAtA)
					}
					r.put(joins("alice", "a", "a.example", "/p"))
					r.work()
					r.asksForPage("web", "", "/")
					r.work()
					r.answers("z.example", "/admin", "403")
					r.pageForwards()
					r.remove("alice", "a", false)
					if restarted {
						r.takeOver()
					}
					for range 3 {
						r.work()
						r.answers("a.example", "/admin", "404")
						r.takeOver()
						time.Sleep(time.Hour)
					}
					if more {
						r.answers("z.example", "/admin", "404")
						r.hears("bob", "web", "ChangeWaits", "it is not served")
					} else {
						r.answers("z.example", "/admin", "bob/web")
						r.hears("bob", "web", "HostClosed", "a.example")
					}
					if hosts, told := r.closed(); told == more || more == (len(hosts) > 0) {
						t.Errorf("closed are %q, and bob is told: %t", hosts, told)
					}
					r.put(joins("alice", "web", "alice.example", "/new"))
					r.work()
					r.answers("alice.example", "/new", "alice/web")
				})
			})
		}
	}
}

// A host stays closed for any later operator where its rule has regular expressions for hosts.
func TestAClosedHostOfARegularExpression(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := restart{newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) {
			gated(c)
			c.ListenPorts = []v1alpha1.ListenPort{{Protocol: "HTTP", Port: 8080}} // hosts may have it
		}, ruleBook(noAdminAtA)), nil}
		cloud, err := fake.New(fake.Options{Capabilities: lb.ALB()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cloud.Close)
		r.cloud.Cloud = cloud
		r.put(aliceWeb(false, "a.example", "two.other"))
		r.put(joins("alice", "keep", "keep.example", "/p"))
		r.work()
		r.put(joins("bob", "web", "", "/"))
		r.work()
		r.remove("alice", "web", false)
		for range 3 {
			r.work()
			seen, err := cloud.Observe(t.Context(), sharedKey, false)
			if err != nil {
				t.Fatal(err)
			}
			for host, want := range map[string]string{"a.example:8080": "fixed 404", "z.example:8080": "forward bob/web:80"} {
				ask := routing.Request{Port: 8080, Host: host, Path: "/admin", Method: "GET"}
				if _, got := seen.Listener(8080).Plain().Match(ask, lb.ALB().Dialect); got.String() != want {
					t.Errorf("%s is answered by %s, want %s", host, got, want)
				}
			}
			r.takeOver()
			time.Sleep(time.Hour)
		}
	})
}

// While expectations cannot be read, an Ingress with a certificate can be deleted, whatever covers its
// host: nothing is served for the host without the certificate.
func TestAHostWithACertificateIsGivenUp(t *testing.T) {
	for _, covered := range []bool{false, true} {
		t.Run(fmt.Sprintf("covered %t", covered), func(t *testing.T) {
			r := restart{newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) {
				gated(c)
				c.ListenPorts = []v1alpha1.ListenPort{{Protocol: "HTTP", Port: 80}, {Protocol: "HTTPS", Port: 443}}
			}, ruleBook(noAdminAtA)), nil}
			for _, namespace := range []string{"carol", "alice"} {
				rejecting{r.sharedBench}.certify(namespace, "tls", namespace[:1]+".example")
				ing := joins(namespace, "web", namespace[:1]+".example", "/p")
				ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{namespace[:1] + ".example"}, SecretName: "tls"}}
				r.put(ing)
				r.work()
			}
			if covered {
				r.put(joins("bob", "web", "", "/"))
				r.work()
			}
			r.answers("a.example", "/p", "alice/web")
			r.rules("")
			r.remove("alice", "web", false)
			r.work()
			r.answers("a.example", "/p", "404")
			r.answers("c.example", "/p", "carol/web")
			if r.find("alice", "web") != nil {
				t.Errorf("the Ingress that alice deleted stays: %s", r.degraded())
			}
		})
	}
}
