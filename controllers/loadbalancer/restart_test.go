package loadbalancer

import (
	"fmt"
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
	"fairlead.dev/fairlead/test/nightly"
)

// This file tests that after a restart, too, a violation holds back its namespace only, whatever
// differs in the cloud from what was last accepted; likewise where something vanishes.

// A restart has an operator that begins after something has changed.
type restart struct {
	sharedBench
	page *v1alpha1.Backend // of bob; it answers 403
}

func newRestart(t *testing.T, edit func(*v1alpha1.LoadBalancerClassSpec)) restart {
	t.Helper()
	page := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: "page"}}
	page.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
	return restart{newGatedShare(t, edit, page), page}
}

// asksForPage has an Ingress of bob ask for paths, of which the page answers the first.
func (r restart) asksForPage(name, host string, paths ...string) {
	r.Helper()
	ing := joins("bob", name, host, paths...)
	ing.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{
		Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "page"},
	}
	r.put(ing)
}

// pageForwards makes the page forward, which nothing reconciles yet.
func (r restart) pageForwards() {
	r.Helper()
	if err := r.Get(r.Context(), client.ObjectKeyFromObject(r.page), r.page); err != nil {
		r.Fatal(err)
	}
	r.page.Spec = v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{{Name: "web", Port: v1alpha1.ServicePort{Number: 80}}}}
	if err := r.Update(r.Context(), r.page); err != nil {
		r.Fatal(err)
	}
}

// applies has another writer carry a step out in the cloud.
func (r restart) applies(step func(*lb.Observed) plan.Step) {
	r.Helper()
	seen, err := r.cloud.Cloud.Observe(r.Context(), sharedKey, false)
	if err != nil {
		r.Fatal(err)
	}
	if _, err := r.cloud.Cloud.Apply(r.Context(), seen, step(seen)); err != nil {
		r.Fatal(err)
	}
}

func otherSettings(seen *lb.Observed) plan.Step {
	l := seen.Listener(80)
	return plan.ModifyListener{Listener: lb.Listener{Port: 80, Protocol: l.Protocol, Digest: l.Digest + "x", Default: l.Default}}
}

func TestAViolationAcrossARestartHoldsItsNamespaceBack(t *testing.T) {
	for name, act := range map[string]func(restart){
		"a default that is held back": func(r restart) {
			r.put(joins("bob", "web", "", "/"))
			r.work()
		},
		"a default that is held back, without a version": func(r restart) {
			r.put(joins("bob", "web", "", "/"))
			r.work()
			r.forgetVersions("bob")
		},
		"the Backend of a default": func(r restart) {
			r.asksForPage("web", "", "/")
			r.work()
			r.answers("other.example", "/admin", "403")
			r.pageForwards()
		},
		"the Backend of a path": func(r restart) {
			r.asksForPage("web", "bob.example", "/admin")
			r.work()
			r.pageForwards()
		},
		"what a changed Backend covered": func(r restart) {
			r.asksForPage("cover", "bob.example", "/admin")
			r.work()
			r.put(joins("bob", "web", "bob.example", "/"))
			r.work()
			r.answers("bob.example", "/", "bob/web")
			r.answers("bob.example", "/admin", "403")
			r.put(joins("bob", "cover", "bob.example", "/else"))
			r.pageForwards()
		},
		"what covered it, without a version": func(r restart) {
			r.asksForPage("cover", "bob.example", "/admin")
			r.work()
			r.put(joins("bob", "web", "bob.example", "/"))
			r.work()
			r.put(joins("bob", "cover", "bob.example", "/"))
			r.work()
			r.answers("bob.example", "/admin", "403")
			r.hears("bob", "cover", "ChangeWaits")
			r.forgetVersions("bob")
		},
		"a port, without a version": func(r restart) {
			ing := joins("bob", "web", "", "/")
			ing.Annotations["fairlead.dev/listen-ports"] = "HTTP:80, HTTP:8080"
			r.put(ing)
			r.work()
			r.forgetVersions("bob")
		},
		"a default, and other settings of the listener": func(r restart) {
			r.asksForPage("web", "", "/")
			r.work()
			r.pageForwards()
			r.applies(otherSettings)
		},
		"a default, and a listener that is gone": func(r restart) {
			r.asksForPage("web", "", "/")
			r.work()
			r.pageForwards()
			r.applies(func(*lb.Observed) plan.Step { return plan.DeleteListener{Port: 80} })
		},
		"a default, and a load balancer that is gone": func(r restart) {
			r.asksForPage("web", "", "/")
			r.work()
			r.pageForwards()
			r.applies(func(*lb.Observed) plan.Step { return plan.DeleteListener{Port: 80} })
			r.applies(func(*lb.Observed) plan.Step { return plan.DeleteLoadBalancer{Key: sharedKey} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRestart(t, nil)
				act(r)
				r.takeOver()
				r.checkAliceIsFree()
				for _, host := range []string{"other.example", "bob.example", "more.example"} {
					if got := r.answer(host, "/admin"); strings.Contains(got, "/") {
						t.Errorf("%s/admin is forwarded to %s", host, got)
					}
				}
				if notes := append(r.notes("bob", "web"), r.notes("bob", "cover")...); !strings.Contains(strings.Join(notes, "\n"), "ChangeWaits") {
					t.Errorf("bob hears %q", notes)
				}
				r.remove("bob", "cover", false)
				r.put(joins("bob", "web", "bob.example", "/good"))
				r.work()
				r.answers("bob.example", "/good", "bob/web")
			})
		})
	}
}

// What alice violated before a restart costs her nothing then, though bob violates something new, and
// whatever another writer has changed of the load balancer. What is no longer served counts as new.
func TestAnOldViolationAcrossARestart(t *testing.T) {
	rules := ruleBook(strings.ReplaceAll(noAdmin, "/admin", "/never"))
	const noVersion = "no version"
	for name, c := range map[string]struct {
		drift func(restart)
		ends  bool // what alice violates is not served any more
	}{
		"a Backend":                      {drift: func(restart) {}},
		noVersion:                        {drift: func(restart) {}},
		"other settings of the listener": {drift: func(r restart) { r.applies(otherSettings) }},
		"other settings of the load balancer": {drift: func(r restart) {
			r.applies(func(seen *lb.Observed) plan.Step {
				return plan.ModifyLoadBalancer{LoadBalancer: lb.LoadBalancer{Key: sharedKey, Digest: seen.Digest + "x"}}
			})
		}},
		"a listener that is gone": {func(r restart) {
			r.applies(func(*lb.Observed) plan.Step { return plan.DeleteListener{Port: 80} })
		}, true},
		"a load balancer that is gone": {func(r restart) {
			r.applies(func(*lb.Observed) plan.Step { return plan.DeleteListener{Port: 80} })
			r.applies(func(*lb.Observed) plan.Step { return plan.DeleteLoadBalancer{Key: sharedKey} })
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			page := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: "page"}}
			page.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
			book := rules.DeepCopy()
			r := restart{newSharedBench(t, gated, book, page), page}
			r.put(joins("alice", "web", "alice.example", "/admin"))
			r.put(joins("carol", "web", "carol.example", "/old"))
			r.asksForPage("root", "", "/")
			r.work()
			book.Data = ruleBook(noAdmin).Data
			if err := r.Update(t.Context(), book); err != nil {
				t.Fatal(err)
			}
			r.work()
			r.answers("alice.example", "/admin", "alice/web")
			r.answers("other.example", "/admin", "403")
			if r.pageForwards(); name == noVersion {
				r.put(joins("bob", "root", "", "/"))
				r.forgetVersions("bob")
			}
			c.drift(r)
			r.takeOver()
			r.put(joins("alice", "web", "alice.example", "/admin", "/new"))
			r.put(joins("carol", "web", "carol.example", "/new"))
			r.work()
			r.answers("carol.example", "/new", "carol/web")
			if c.ends {
				r.answers("alice.example", "/admin", "404")
				r.hears("alice", "web", "ChangeWaits", "it ends when")
			} else {
				r.answers("alice.example", "/admin", "alice/web")
				r.answers("alice.example", "/new", "alice/web")
			}
			if got := r.answer("other.example", "/admin"); strings.Contains(got, "/") {
				t.Errorf("other.example/admin is forwarded to %s", got)
			}
			r.hears("bob", "root", "ChangeWaits", "it ends when")
		})
	}
}

// What has vanished is served again where its namespace is held back, unless it violates something
// now, or covered what does.
func TestWhatVanishedAndViolates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestart(t, nil)
		r.asksForPage("cover", "bob.example", "/admin")
		r.work()
		r.put(joins("bob", "root", "bob.example", "/"))
		r.work()
		r.answers("bob.example", "/", "bob/web")
		r.answers("bob.example", "/admin", "403")
		r.remove("bob", "cover", true)
		r.remove("bob", "root", true)
		r.work()
		r.answers("bob.example", "/admin", "403")
		time.Sleep(r.Grace)
		r.put(joins("bob", "web", "bob.example", "/admin"))
		r.pageForwards()
		r.checkAliceIsFree()
		if got := r.answer("bob.example", "/admin"); strings.Contains(got, "/") {
			t.Errorf("bob.example/admin is forwarded to %s", got)
		}
	})
}

// What alice's host keeps from bob's wildcard stays kept from it when her host goes, as an expectation
// forbids it: a restart between changes nothing.
func TestAHostThatGoesAcrossARestart(t *testing.T) {
	rules := ruleBook(`
expectations:
- name: no-admin
  requests: {hosts: [a.example], paths: [{prefix: /admin}]}
  must: {forwarded: false}
`)
	for name, leave := range map[string]func(restart){
		"it is deleted": func(r restart) {
			r.remove("alice", "web", false)
			r.work()
		},
		"it vanishes": func(r restart) {
			r.remove("alice", "web", true)
			r.work()
		},
		"it is deleted, and the record lacks the closed hosts": func(r restart) {
			r.remove("alice", "web", false)
			r.work()
			known := r.Records.Get(sharedKey)
			record := *known.DeepCopy()
			record.Memory.ClosedHosts = nil
			if err := r.Records.Save(r.Context(), sharedKey, record); err != nil {
				r.Fatal(err)
			}
		},
	} {
		for _, host := range []string{"*.example", ""} {
			t.Run(name+", under \""+host+"\"", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := restart{newSharedBench(t, gated, rules.DeepCopy()), nil}
					r.put(joins("alice", "web", "a.example", "/p"))
					r.put(joins("alice", "two", "b.other", "/p"))
					r.work()
					r.put(joins("bob", "web", host, "/"))
					r.work()
					leave(r)
					r.answers("a.example", "/admin", "404")
					r.succeed()
					for range 4 {
						time.Sleep(6 * time.Minute)
						r.work()
						r.answers("a.example", "/admin", "404")
					}
				})
			})
		}
	}
}

// What bob violated before, on another host of his wildcard, stays served when alice's host goes.
func TestAHostThatGoesLeavesOldViolations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := ruleBook(strings.ReplaceAll(noAdmin, "{paths", "{hosts: [never.example.com], paths"))
		r := restart{newSharedBench(t, gated, book), nil}
		r.put(joins("alice", "web", "a.example", "/p"))
		r.put(joins("alice", "two", "b.other", "/p"))
		r.put(joins("bob", "web", "*.example", "/"))
		r.work()
		book.Data = ruleBook(strings.ReplaceAll(noAdmin, "{paths", "{hosts: [z.example], paths")).Data
		if err := r.Update(t.Context(), book); err != nil {
			t.Fatal(err)
		}
		r.work()
		r.answers("z.example", "/admin", "bob/web")
		r.remove("alice", "web", true)
		r.work()
		r.succeed()
		for range 4 {
			time.Sleep(6 * time.Minute)
			r.work()
			r.answers("z.example", "/admin", "bob/web")
		}
	})
}

// While expectations cannot be read, what alice is served stays so after a restart, whatever rule of
// bob the cloud does not delete, with the 404s that keep requests for her hosts from it.
func TestWhatIsServedStaysAcrossARestartWithoutExpectations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestart(t, nil)
		r.put(joins("bob", "old", "", "/old"))
		r.work()
		r.answers("alice.example", "/", "404")
		r.cloud.Refuses = func(s plan.Step) error {
			if _, deletes := s.(plan.DeleteRule); deletes && strings.Contains(s.Detail(), "bob/") {
				return providers.ErrRejected
			}
			return nil
		}
		r.remove("bob", "old", true)
		r.work()
		time.Sleep(2 * r.Grace)
		r.work()
		r.answers("other.example", "/old", "bob/web")
		if err := r.Delete(t.Context(), ruleBook(noAdmin)); err != nil {
			t.Fatal(err)
		}
		r.takeOver()
		for range 3 {
			r.work()
			r.answers("alice.example", "/old", "alice/web")
			time.Sleep(time.Hour)
		}
	})
}

// What alice was given by a plan of which bob's part waits is not new when the expectations are gone.
func TestWhatIsServedStaysAfterAPartOfAPlan(t *testing.T) {
	r := newRestart(t, nil)
	r.cloud.Refuses = func(s plan.Step) error {
		if _, creates := s.(plan.CreateTargetGroup); creates && strings.Contains(s.ID(), "bob/") {
			return providers.ErrPending
		}
		return nil
	}
	ing := joins("bob", "more", "b.example", "/p")
	ing.Spec.Rules[0].HTTP.Paths[0].Backend.Service = toService("other")
	r.put(ing)
	r.put(joins("alice", "more", "more.example", "/p"))
	r.work()
	r.answers("more.example", "/p", "alice/web")
	if err := r.Delete(t.Context(), ruleBook(noAdmin)); err != nil {
		t.Fatal(err)
	}
	r.work()
	r.answers("more.example", "/p", "alice/web")
	r.answers("alice.example", "/old", "alice/web")
	r.answers("bob.example", "/old", "bob/web")
}

// A Backend with a 403 comes to forward to what a less specific rule of its Ingress forwards to, so that
// its path needs no rule. That violates an expectation after a restart, too.
func TestAPathThatNeedsNoRuleAcrossARestart(t *testing.T) {
	for _, path := range []string{"/", "/admin"} {
		t.Run(path, func(t *testing.T) {
			r := newRestart(t, func(c *v1alpha1.LoadBalancerClassSpec) { c.HostMiss = v1alpha1.HostMissLessSpecific })
			r.rules("")
			r.rules(noAdminAtA)
			ing := joins("bob", "web", "a.example", "/admin")
			ing.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{
				Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindBackend, Name: "page"},
			}
			ing.Spec.Rules = append(ing.Spec.Rules, below("", path).Spec.Rules...)
			r.put(ing)
			r.work()
			r.answers("a.example", "/admin", "403")
			r.answers("z.example", "/admin", "bob/web")
			r.pageForwards()
			r.takeOver()
			r.work()
			r.answers("a.example", "/admin", "404")
			r.checkAliceIsFree()
		})
	}
}

// A step of a change fails, the expectations are gone, and another operator takes over. What else is served
// stays so: other Ingresses of the namespace, and of others on the same host.
func TestAChangeThatIsHalfDoneAcrossARestart(t *testing.T) {
	for _, shared := range []bool{false, true} {
		for _, fails := range []string{"create rule", "delete rule", "target group", "nothing"} {
			t.Run(fmt.Sprintf("shared %t, %s fails", shared, fails), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRestart(t, func(c *v1alpha1.LoadBalancerClassSpec) {
						if shared {
							c.Hosts = v1alpha1.HostsShared
						}
					})
					who := "alice"
					if shared {
						who = "bob"
					}
					r.put(joins("alice", "a0", "a0.example", "/p0"))
					r.put(joins("alice", "a1", "a1.example", "/p0"))
					if shared {
						r.put(joins("bob", "b0", "a0.example", "/b"))
					}
					r.work()
					r.answers("a0.example", "/p0", "alice/web")
					r.cloud.Refuses = func(s plan.Step) error {
						switch s.(type) {
						case plan.CreateRule:
							if fails != "create rule" {
								return nil
							}
						case plan.DeleteRule:
							if fails != "delete rule" {
								return nil
							}
						case plan.CreateTargetGroup:
							if fails != "target group" {
								return nil
							}
						default:
							return nil
						}
						if strings.Contains(s.ID()+s.Detail(), who+"/") {
							return stepErrors["Denied"]
						}
						return nil
					}
					name, path := "a0", "/p0"
					if shared {
						name, path = "b0", "/b"
					}
					ing := joins(who, name, "a0.example", path+"new", path+"other")
					ing.Spec.Rules[0].HTTP.Paths[1].Backend.Service = toService("other")
					r.put(ing)
					r.work()
					r.rules("")
					r.takeOver()
					for range 2 {
						r.work()
						r.answers("a1.example", "/p0", "alice/web")
						r.answers("alice.example", "/old", "alice/web")
						r.answers("bob.example", "/old", "bob/web")
						if shared {
							r.answers("a0.example", "/p0", "alice/web")
						}
					}
				})
			})
		}
	}
}

// A host that has another path loses the one with a 403, of which the record has no version.
func TestAForgottenPathOfAHostAcrossARestart(t *testing.T) {
	for _, miss := range nightly.Some(t, 2, []string{"", v1alpha1.HostMissLessSpecific}) {
		for _, order := range nightly.Some(t, 2, []bool{false, true}) {
			for _, under := range []string{"", "*.example"} {
				for _, act := range []string{"edits", "deletes"} {
					t.Run(fmt.Sprintf("hostMiss %q, order %t, under %q, %s", miss, order, under, act), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							r := newRestart(t, func(c *v1alpha1.LoadBalancerClassSpec) {
								c.HostMiss = miss
								if order {
									c.Precedence = v1alpha1.PrecedenceOrder
								}
							})
							r.rules("")
							r.rules(noAdminAtA)
							r.asksForPage("cover", "a.example", "/admin")
							r.put(joins("bob", "more", "a.example", "/x"))
							r.work()
							r.put(joins("bob", "root", under, "/"))
							r.work()
							r.answers("a.example", "/admin", "403")
							r.answers("a.example", "/x", "bob/web")
							known := r.Records.Get(sharedKey)
							record := *known.DeepCopy()
							for i := range record.Memory.Members {
								if m := &record.Memory.Members[i]; m.Ingress == "bob/cover" {
									m.LastAccepted, m.Forgotten = nil, true
								}
							}
							if err := r.Records.Save(r.Context(), sharedKey, record); err != nil {
								t.Fatal(err)
							}
							if act == "edits" {
								r.asksForPage("cover", "a.example", "/else")
							} else {
								r.remove("bob", "cover", true)
							}
							r.takeOver()
							for range 2 {
								r.work()
								r.answers("a.example", "/admin", "404")
								time.Sleep(time.Hour)
							}
							r.answers("a.example", "/x", "bob/web")
						})
					})
				}
			}
		}
	}
}

// While expectations cannot be read, what is served stays so after a restart, and what another hand has
// deleted of it comes back: a listener, or the load balancer.
func TestWhatIsDeletedOutsideAcrossARestartWithoutExpectations(t *testing.T) {
	for name, deleted := range map[string][]plan.Step{
		"a listener":              {plan.DeleteListener{Port: 8080}},
		"another listener":        {plan.DeleteListener{Port: 80}},
		"all listeners":           {plan.DeleteListener{Port: 80}, plan.DeleteListener{Port: 8080}},
		"the whole load balancer": {plan.DeleteLoadBalancer{Key: sharedKey}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRestart(t, func(c *v1alpha1.LoadBalancerClassSpec) {
					c.ListenPorts = []v1alpha1.ListenPort{{Protocol: "HTTP", Port: 80}, {Protocol: "HTTP", Port: 8080}}
				})
				r.asksForPage("page", "page.example", "/admin")
				r.work()
				r.rules("")
				for _, step := range deleted {
					r.applies(func(*lb.Observed) plan.Step { return step })
				}
				r.takeOver()
				r.put(joins("carol", "new", "new.example", "/"))
				for range 2 {
					r.work()
					r.answers("alice.example", "/old", "alice/web")
					r.answers("bob.example", "/old", "bob/web")
					r.answers("page.example", "/admin", "403")
					r.answers("new.example", "/", "404")
					if seen, err := r.cloud.Cloud.Observe(t.Context(), sharedKey, false); err != nil || len(seen.Listeners) != 2 {
						t.Errorf("there are %d listeners, %v", len(seen.Listeners), err)
					}
					time.Sleep(time.Hour)
				}
			})
		})
	}
}

// A rule of bob for any host goes, of which the record has no version. It came after what alice is served.
func TestARuleForAnyHostThatGoesAcrossARestart(t *testing.T) {
	for _, order := range []bool{false, true} {
		t.Run(fmt.Sprintf("order %t", order), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRestart(t, func(c *v1alpha1.LoadBalancerClassSpec) {
					if order {
						c.Precedence = v1alpha1.PrecedenceOrder
					}
				})
				r.rules("")
				r.rules(strings.ReplaceAll(noAdmin, "/admin", "/never"))
				r.put(joins("alice", "more", "more.example", "/a", "/more"))
				r.put(joins("bob", "star", "", "/*"))
				r.work()
				r.answers("more.example", "/more", "alice/web")
				r.answers("z.example", "/*", "bob/web")
				r.rules("")
				r.forgetVersions("bob")
				r.takeOver()
				r.put(joins("bob", "star", "star.example", "/x"))
				for range 2 {
					r.work()
					r.answers("more.example", "/more", "alice/web")
					r.answers("alice.example", "/old", "alice/web")
					time.Sleep(time.Hour)
				}
			})
		})
	}
}

// After a restart while expectations cannot be read, it is not known whether a rule that the cloud lacks was
// deleted by another hand, or would be new: its Ingress is not served, which costs no other one, and is told.
// It is served again once they can be read.
func TestARuleThatIsDeletedOutsideAcrossARestartWithoutExpectations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestart(t, nil)
		ing := joins("carol", "web", "carol.example", "/one", "/two")
		ing.Spec.Rules[0].HTTP.Paths[1].Backend.Service = toService("other")
		r.put(ing)
		r.put(joins("carol", "else", "else.example", "/e"))
		r.work()
		r.answers("carol.example", "/two", "carol/other")
		r.rules("")
		r.applies(func(seen *lb.Observed) plan.Step {
			for _, there := range seen.Listener(80).Rules {
				if strings.Contains(there.Key(), "carol/other") {
					return plan.DeleteRule{Port: 80, Priority: there.Priority, Rule: there.Rule}
				}
			}
			t.Fatal("there is no such rule")
			return nil
		})
		r.takeOver()
		r.work()
		r.answers("alice.example", "/old", "alice/web")
		r.answers("bob.example", "/old", "bob/web")
		r.answers("else.example", "/e", "carol/web")
		r.answers("carol.example", "/one", "404")
		r.answers("carol.example", "/two", "404")
		r.hears("carol", "web", "ChangeWaits", "it is not served", "the ConfigMap is corrected")
		r.rules(noAdmin)
		r.work()
		r.answers("carol.example", "/one", "carol/web")
		r.answers("carol.example", "/two", "carol/other")
	})
}

// While expectations cannot be read, listeners that another hand has deleted come back after a restart. An
// Ingress whose last accepted version is forgotten brings nothing new with it: it is not served.
func TestAForgottenVersionWhereAllIsDeletedOutside(t *testing.T) {
	for name, deleted := range map[string][]plan.Step{
		"the listener":            {plan.DeleteListener{Port: 80}},
		"the whole load balancer": {plan.DeleteListener{Port: 80}, plan.DeleteLoadBalancer{Key: sharedKey}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRestart(t, nil)
				r.put(joins("bob", "more", "more.example", "/good"))
				r.work()
				r.answers("more.example", "/good", "bob/web")
				r.rules("")
				r.forgetVersions("bob")
				r.put(joins("bob", "more", "more.example", "/good", "/admin"))
				for _, step := range deleted {
					r.applies(func(*lb.Observed) plan.Step { return step })
				}
				r.takeOver()
				for range 2 {
					r.work()
					r.answers("alice.example", "/old", "alice/web")
					r.answers("more.example", "/admin", "404")
					time.Sleep(time.Hour)
				}
				r.rules(noAdmin)
				r.put(joins("bob", "more", "more.example", "/good"))
				r.work()
				r.answers("more.example", "/good", "bob/web")
			})
		})
	}
}
