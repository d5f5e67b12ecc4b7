package controllers_test

import (
	"slices"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/test/kube"
)

// This file is about Ingresses that name no class of ours any more, and about classes that are
// gone.

// served is a world with an Ingress that is served, under a class with a grace.
func served(t *testing.T, grace time.Duration) *world {
	t.Helper()
	w := newWorld(t)
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{MoveGrace: &metav1.Duration{Duration: grace}})
	w.create(w.ingressClass(w.class+"-other", "example.com/other"))
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.eventually(func() error { // else the class that is remembered is the one without parameters
		known := w.balancer("shop").Status.Memory
		return noError(known.Class != nil && known.Class.MoveGrace != nil, "the class is remembered as %v", known.Class)
	})
	w.calm()
	return w
}

// ofClass names a class, and nothing else; "" names none.
func ofClass(class string) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) {
		i.Spec.IngressClassName = nil
		if class != "" {
			i.Spec.IngressClassName = &class
		}
	}
}

// departedAt is when an Ingress is remembered to have left our classes; nil if it has not.
func (w *world) departedAt(name string) *metav1.Time {
	w.Helper()
	at := slices.IndexFunc(w.balancer(name).Status.Memory.Members, func(m v1alpha1.MemberMemory) bool { return m.Ingress == w.namespace+"/"+name })
	if at < 0 {
		return nil
	}
	return w.balancer(name).Status.Memory.Members[at].DepartedAt
}

// giveAway deletes the class of the world and makes it again for a controller.
func (w *world) giveAway(controller string) {
	w.Helper()
	class := w.ingressClass(w.class, "")
	if err := w.Delete(w.Context(), class); err != nil {
		w.Fatal(err)
	}
	class = w.ingressClass(w.class, controller)
	if controller == ingress.ControllerName {
		class.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: w.class}
	}
	w.create(class)
}

// TestToAnotherControllerAndBack: who comes back in time finds everything as it was, and no request
// fails.
func TestToAnotherControllerAndBack(t *testing.T) {
	for name, c := range map[string]struct {
		away, back func(*world)
		reason     string
	}{
		"the Ingress names another class": {
			func(w *world) { w.change("shop", ofClass(w.class+"-other")) }, func(w *world) { w.change("shop", ofClass(w.class)) }, "ClassForeign",
		},
		"the annotation does": {
			func(w *world) { w.change("shop", annotate(legacyClass, w.class+"-other")) },
			func(w *world) { w.change("shop", func(i *networkingv1.Ingress) { delete(i.Annotations, legacyClass) }) }, "ClassForeign",
		},
		"the Ingress names no class": {
			func(w *world) { w.change("shop", ofClass("")) }, func(w *world) { w.change("shop", ofClass(w.class)) }, "ClassUnset",
		},
		"the class is another controller's": {
			func(w *world) { w.giveAway("example.com/other") }, func(w *world) { w.giveAway(ingress.ControllerName) }, "ClassForeign",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := served(t, time.Hour)
			at, writes := w.address("shop"), w.cloud.writes.Load()
			end := w.load(func() error { return w.request(at, "http://shop.example/", "web-1") })
			for range 3 {
				c.away(w)
				w.told("shop", c.reason)
				w.eventually(func() error { return noError(w.departedAt("shop") != nil, "it is not remembered that it is not ours") })
				if i := w.ingress("shop"); len(i.Finalizers) != 1 || len(i.Status.LoadBalancer.Ingress) == 0 {
					t.Errorf("while the grace lasts it has %v and %v", i.Finalizers, i.Status)
				}
				c.back(w)
				w.eventually(func() error { return noError(w.departedAt("shop") == nil, "it is still remembered as not ours") })
			}
			w.calm()
			end()
			if n := w.cloud.writes.Load() - writes; n > 0 {
				t.Errorf("%d writes to the cloud", n)
			}
			if again := w.address("shop"); again != at {
				t.Errorf("it is reached at %s, and was at %s", again, at)
			}
			w.is("shop", v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted)
		})
	}
}

// TestAnIngressIsLetGoWhenTheGraceIsOver: until then it is served as it was, and our marks are on
// it; what the other controller writes stays throughout.
func TestAnIngressIsLetGoWhenTheGraceIsOver(t *testing.T) {
	for name, away := range map[string]func(*world){
		"the Ingress names another class":   func(w *world) { w.change("shop", ofClass(w.class+"-other")) },
		"the Ingress names no class":        func(w *world) { w.change("shop", ofClass("")) },
		"the class is another controller's": func(w *world) { w.giveAway("example.com/other") },
	} {
		t.Run(name, func(t *testing.T) {
			const grace = 4 * time.Second
			w := served(t, grace)
			w.serve("api", "api-1")
			at, writes := w.address("shop"), w.cloud.writes.Load()
			away(w)
			w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "api" })
			w.told("shop", "LastGood")
			end := w.load(func() error { return w.request(at, "http://shop.example/", "web-1") })

			theirs := networkingv1.IngressLoadBalancerIngress{Hostname: "other.example"}
			i := w.ingress("shop")
			before := i.DeepCopy()
			i.Status.LoadBalancer.Ingress = append(i.Status.LoadBalancer.Ingress, theirs)
			if err := w.Status().Patch(t.Context(), i, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
			w.eventually(func() error {
				return noError(w.departedAt("shop") != nil, "it is not remembered since when it is not ours")
			})
			since := w.departedAt("shop")
			time.Sleep(time.Until(since.Add(grace - time.Second)))
			end()
			if n := w.cloud.writes.Load() - writes; n > 0 {
				t.Errorf("%d writes to the cloud while the grace lasts", n)
			}
			if i := w.ingress("shop"); len(i.Finalizers) != 1 || len(i.Status.LoadBalancer.Ingress) != 2 {
				t.Errorf("while the grace lasts it has %v and %v", i.Finalizers, i.Status)
			}
			w.gone()
			w.eventually(func() error {
				i := w.ingress("shop")
				entries := i.Status.LoadBalancer.Ingress
				return noError(len(i.Finalizers) == 0 && len(entries) == 1 && entries[0].Hostname == theirs.Hostname, "it has %v and %v", i.Finalizers, entries)
			})
			version := w.ingress("shop").ResourceVersion
			w.calm()
			if got := w.ingress("shop").ResourceVersion; got != version {
				t.Error("it is written to after it was let go")
			}
			if time.Since(since.Time) < grace {
				t.Errorf("it was let go after %s", time.Since(since.Time))
			}
		})
	}
}

func TestTheGraceOutlivesTheOperator(t *testing.T) {
	for name, away := range map[string]time.Duration{"an operator that is soon back": 0, "an operator that is away for longer than it lasts": 6 * time.Second} {
		t.Run(name, func(t *testing.T) {
			w := served(t, 6*time.Second)
			at := w.address("shop")
			w.change("shop", ofClass(w.class+"-other"))
			w.told("shop", "ClassForeign")
			since := w.departedAt("shop")
			w.stop()
			time.Sleep(away)
			writes := w.cloud.writes.Load()
			w.run()
			if away == 0 {
				w.calm()
				if n := w.cloud.writes.Load() - writes; n > 0 {
					t.Errorf("%d writes to the cloud while the grace lasts", n)
				}
				if err := w.request(at, "http://shop.example/", "web-1"); err != nil {
					t.Errorf("it is not served any more: %s", err)
				}
				if now := w.departedAt("shop"); since == nil || now == nil || !now.Equal(since) {
					t.Errorf("the grace began at %v, and now at %v", since, now)
				}
			}
			w.gone()
			w.released("shop")
		})
	}
}

func TestADeletionWaitsForNoGrace(t *testing.T) {
	w := served(t, time.Hour)
	w.change("shop", ofClass(w.class+"-other"))
	w.told("shop", "ClassForeign")
	w.remove("shop")
	w.gone()
}

func TestAnIngressIsLetGoInTheMiddleOfAMove(t *testing.T) {
	w := served(t, 3*time.Second)
	old := w.address("shop")
	w.change("shop", annotate("fairlead.dev/group", "all"))
	w.eventually(func() error { return noError(w.address("shop") != old, "it still points to %s", old) })
	w.change("shop", ofClass(w.class+"-other"))
	w.remains(2)
	w.gone()
	w.released("shop")
}

// TestAPinnedClassIsDeletedThatAnAnnotationNames: what it pinned stays pinned, even where its name
// is a literal.
func TestAPinnedClassIsDeletedThatAnAnnotationNames(t *testing.T) {
	for name, literal := range map[string]bool{"": false, "that is a literal, too": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := emptyWorld(t, kube.Shared(t))
			w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{
				Scheme: v1alpha1.SchemeInternal, ListenPorts: []v1alpha1.ListenPort{{Protocol: v1alpha1.ProtocolHTTP, Port: 8080}}, Annotations: &[]string{},
				AllowedHosts: []v1alpha1.AllowedHosts{{Hosts: []string{"shop.example"}}},
			})
			options := func(s *settings) {
				if literal {
					s.operator.Classes.Literal = w.class
				}
			}
			w.run(options)
			w.serve("web", "web-1")
			ing := w.ask("shop", "shop.example", "/", "web")
			ing.Spec.IngressClassName, ing.Annotations[legacyClass] = nil, w.class
			w.create(ing)
			w.answers("shop", "http://shop.example:8080/", "web-1")
			w.calm()
			at, writes := w.address("shop"), w.cloud.writes.Load()

			if err := w.Delete(t.Context(), w.ingressClass(w.class, "")); err != nil {
				t.Fatal(err)
			}
			w.told("shop", "ClassMissing")
			w.is("shop", v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonClassMissing)
			w.change("shop", func(i *networkingv1.Ingress) {
				i.Annotations["fairlead.dev/scheme"] = v1alpha1.SchemeInternetFacing
				i.Spec.Rules[0].Host = "forbidden.example"
			})
			fresh := w.ask("fresh", "forbidden.example", "/", "web")
			fresh.Spec.IngressClassName, fresh.Annotations[legacyClass] = nil, w.class
			w.create(fresh)
			for range 2 {
				w.calm()
				w.stop()
				w.run(options)
			}
			w.calm()
			if n := w.cloud.writes.Load() - writes; n > 0 {
				t.Errorf("%d writes to the cloud though the class is missing", n)
			}
			if err := w.request(at, "http://shop.example:8080/", "web-1"); err != nil {
				t.Errorf("what was served is not any more: %s", err)
			}
			if got := slices.Contains(w.reasons("fresh"), "ClassMissing"); got != literal {
				t.Errorf("a new Ingress is told %v", w.reasons("fresh"))
			}
			if i := w.ingress("fresh"); len(i.Status.LoadBalancer.Ingress)+len(i.Finalizers) > 0 {
				t.Errorf("a new Ingress has %v and %v", i.Finalizers, i.Status)
			}
		})
	}
}

// TestTheShippedNameGetsAroundNoClass: there is no IngressClass of that name, only one with another
// name that pins the scheme. Then an operator is told to serve the literal, and then it is not any
// more: the last is what an installation meets that has relied on a version which made the class
// up.
func TestTheShippedNameGetsAroundNoClass(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{Scheme: v1alpha1.SchemeInternal, Annotations: &[]string{}})
	w.run()
	w.serve("web", "web-1")
	w.serve("api", "api-1")
	ing := w.ask("shop", "shop.example", "/", "web")
	ing.Spec.IngressClassName, ing.Annotations[legacyClass], ing.Annotations["fairlead.dev/scheme"] = nil, ingress.DefaultClass, v1alpha1.SchemeInternetFacing
	w.create(ing)
	w.told("shop", "ClassMissing")
	w.calm()
	if n := w.cloud.writes.Load(); n > 0 {
		t.Errorf("%d writes to the cloud for an Ingress without a class", n)
	}
	w.stop()

	w.run(func(s *settings) { s.operator.Classes.Literal = ingress.DefaultClass })
	w.answers("shop", "http://shop.example/", "web-1")
	w.calm()
	w.stop()

	at, writes := w.address("shop"), w.cloud.writes.Load()
	w.run()
	w.calm()
	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "api" })
	w.told("shop", "LastGood")
	w.calm()
	if n := w.cloud.writes.Load() - writes; n > 0 {
		t.Errorf("%d writes to the cloud to freeze what is served", n)
	}
	if err := w.request(at, "http://shop.example/", "web-1"); err != nil {
		t.Errorf("what was served is not any more: %s", err)
	}
	if i := w.ingress("shop"); len(i.Finalizers) != 1 || w.address("shop") != at {
		t.Errorf("it has %v and %v", i.Finalizers, i.Status)
	}
	w.remove("shop")
	w.gone()
}
