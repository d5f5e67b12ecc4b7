package controllers_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/test/kube"
)

// This file is about whose an Ingress is, and what the class says that it belongs to.

const legacyClass = "kubernetes.io/ingress.class"

func TestWhoseAnIngressIs(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	second, foreign := w.class+"-second", w.class+"-foreign"
	w.create(w.ingressClass(second, ingress.ControllerName), w.ingressClass(foreign, "example.com/other"))

	cases := map[string]struct {
		field, annotation string // the annotation is added when the Ingress exists
		served            bool
		told              []string
	}{
		"the-field":              {field: w.class, served: true},
		"the-annotation":         {annotation: w.class, served: true},
		"the-shipped-name":       {annotation: "fairlead", told: []string{"ClassMissing"}}, // without a class of this name
		"both-agree":             {field: w.class, annotation: w.class, served: true},
		"both-ours":              {field: second, annotation: w.class, served: true, told: []string{"ClassConflict"}},
		"both-annotation-ours":   {field: foreign, annotation: w.class, served: true, told: []string{"ClassConflict"}},
		"both-field-ours":        {field: w.class, annotation: foreign, told: []string{"ClassConflict"}},
		"both-field-missing":     {field: "missing", annotation: w.class, served: true, told: []string{"ClassConflict"}},
		"the-field-is-missing":   {field: w.class + "-missing", told: []string{"ClassMissing"}},
		"the-field-is-foreign":   {field: foreign},
		"the-annotation-foreign": {annotation: foreign},
		"the-annotation-unknown": {annotation: "somebody"},
		"neither":                {},
	}
	before := map[string]string{}
	for name, c := range cases {
		ing := w.ask(name, name+".example", "/", "web")
		ing.Spec.IngressClassName = nil
		if c.field != "" {
			ing.Spec.IngressClassName = &c.field
		}
		if c.field == "" && c.annotation != "" {
			ing.Annotations[legacyClass] = c.annotation
		}
		if c.field != "" && c.annotation != "" {
			// In one object they are refused on creation, so that another class comes first.
			elsewhere := foreign
			ing.Spec.IngressClassName = &elsewhere
		}
		w.create(ing)
		if c.field != "" && c.annotation != "" {
			w.change(name, func(i *networkingv1.Ingress) {
				i.Annotations = map[string]string{legacyClass: c.annotation}
				i.Spec.IngressClassName = &c.field
			})
		}
		before[name] = w.ingress(name).ResourceVersion
	}
	for name, c := range cases {
		for _, reason := range c.told {
			w.told(name, reason)
		}
		if c.served {
			w.answers(name, "http://"+name+".example/", "web-1")
		}
	}
	w.calm()
	for name, c := range cases {
		if diff := cmp.Diff(c.told, w.reasons(name)); diff != "" {
			t.Errorf("%s: what it is told (-want +got):\n%s", name, diff)
		}
		if !c.served && w.ingress(name).ResourceVersion != before[name] {
			t.Errorf("%s is not ours, and is written to: %+v", name, w.ingress(name))
		}
	}
}

func TestAnIngressWithoutAClassIsServedUnderTheNamedOne(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{
		ListenPorts: []v1alpha1.ListenPort{{Protocol: v1alpha1.ProtocolHTTP, Port: 8080}}, Scheme: v1alpha1.SchemeInternal,
		MoveGrace: &metav1.Duration{Duration: 2 * time.Second},
	})
	w.serve("web", "web-1")
	w.run(func(s *settings) { s.operator.Classes.WithoutClass = w.class })
	unclassed := w.ask("unclassed", "shop.example", "/", "web")
	unclassed.Spec.IngressClassName = nil
	unclassed.Annotations["fairlead.dev/listen-ports"] = "HTTP:8080"
	w.create(unclassed)
	w.answers("unclassed", "http://shop.example:8080/", "web-1")

	// Without the class nobody knows what it pins.
	if err := w.Delete(t.Context(), w.ingressClass(w.class, "")); err != nil {
		t.Fatal(err)
	}
	w.told("unclassed", "ClassMissing")
	w.is("unclassed", v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonClassMissing)
	w.change("unclassed", annotate("fairlead.dev/listen-ports", "HTTP:80"))
	w.calm()
	w.answers("unclassed", "http://shop.example:8080/", "web-1")

	// An operator that is not asked to serves it no longer than the grace of the class.
	w.stop()
	w.run()
	w.told("unclassed", "ClassUnset")
	w.answers("unclassed", "http://shop.example:8080/", "web-1")
	w.gone()
	w.released("unclassed")
}

func TestTheDefaultClassIsTheAPIServersToGive(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Start(t, kube.Options{})) // for its default is everybody's
	w.serve("web", "web-1")
	w.run()
	unclassed := func(name string) *networkingv1.Ingress {
		ing := w.ask(name, name+".example", "/", "web")
		ing.Spec.IngressClassName = nil
		return ing
	}
	early := unclassed("early")
	w.create(early)

	standard := func(class *networkingv1.IngressClass) *networkingv1.IngressClass {
		class.Annotations = map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"}
		return class
	}
	class := standard(w.ingressClass("standard", ingress.ControllerName))
	w.create(class)
	w.eventually(func() error { // admission reads a cache of its own
		ing := unclassed("late")
		if err := w.Create(t.Context(), ing, client.DryRunAll); err != nil {
			return err
		}
		return noError(ing.Spec.IngressClassName != nil, "the API server has not seen the default class yet")
	})
	w.create(unclassed("late"))
	w.answers("late", "http://late.example/", "web-1")

	// Of two the API server takes the newer one.
	time.Sleep(time.Until(class.CreationTimestamp.Add(time.Second))) // ages are counted in seconds
	w.create(standard(w.ingressClass("newer", "example.com/other")))
	w.eventually(func() error {
		ing := unclassed("latest")
		if err := w.Create(t.Context(), ing, client.DryRunAll); err != nil {
			return err
		}
		return noError(*ing.Spec.IngressClassName == "newer", "the API server has not seen the newer class yet")
	})
	w.create(unclassed("latest"))
	version := w.ingress("latest").ResourceVersion
	w.calm()
	w.answers("late", "http://late.example/", "web-1")
	if got := w.ingress("latest").ResourceVersion; got != version {
		t.Error("the Ingress that the other default class got is written to")
	}
	if got := w.ingress("early").ResourceVersion; got != early.ResourceVersion {
		t.Error("the Ingress from before there was a default class is written to")
	}
}

func TestAClassComesWithItsParameters(t *testing.T) {
	port := func(n int32) v1alpha1.LoadBalancerClassSpec {
		return v1alpha1.LoadBalancerClassSpec{ListenPorts: []v1alpha1.ListenPort{{Protocol: v1alpha1.ProtocolHTTP, Port: n}}}
	}
	cases := map[string]struct {
		kind  string
		scope string
		make  func(meta metav1.ObjectMeta, spec v1alpha1.LoadBalancerClassSpec) client.Object
	}{
		"for the cluster": {v1alpha1.KindClusterLoadBalancerClass, networkingv1.IngressClassParametersReferenceScopeCluster,
			func(meta metav1.ObjectMeta, spec v1alpha1.LoadBalancerClassSpec) client.Object {
				meta.Namespace = ""
				return &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: meta, Spec: spec}
			}},
		"in a namespace": {v1alpha1.KindLoadBalancerClass, networkingv1.IngressClassParametersReferenceScopeNamespace,
			func(meta metav1.ObjectMeta, spec v1alpha1.LoadBalancerClassSpec) client.Object {
				return &v1alpha1.LoadBalancerClass{ObjectMeta: meta, Spec: spec}
			}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.serve("web", "web-1")
			class := w.ingressClass(w.class+"-with", ingress.ControllerName)
			class.Spec.Parameters = &networkingv1.IngressClassParametersReference{
				APIGroup: new(v1alpha1.Group), Kind: c.kind, Name: w.namespace, Scope: &c.scope,
			}
			if c.scope == networkingv1.IngressClassParametersReferenceScopeNamespace {
				class.Spec.Parameters.Namespace = &w.namespace
			}
			w.create(class)
			ing := w.ask("shop", "shop.example", "/", "web")
			ing.Spec.IngressClassName = &class.Name
			w.create(ing)
			w.told("shop", "ParametersMissing")

			meta := metav1.ObjectMeta{Namespace: w.namespace, Name: w.namespace}
			parameters := c.make(meta, port(8080))
			w.create(parameters)
			w.answers("shop", "http://shop.example:8080/", "web-1")

			meta.ResourceVersion = parameters.GetResourceVersion()
			if err := w.Update(t.Context(), c.make(meta, port(8081))); err != nil {
				t.Fatal(err)
			}
			w.answers("shop", "http://shop.example:8081/", "web-1")

			// Without them nobody knows what the class pins: what is served stays, and nothing is new.
			if err := w.Delete(t.Context(), parameters); err != nil {
				t.Fatal(err)
			}
			w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "other.example" })
			w.told("shop", "LastGood")
			w.answers("shop", "http://shop.example:8081/", "web-1")
			w.remove("shop")
			w.gone()
		})
	}
}

func TestAClassThatDisappearsFreezesWhatItServes(t *testing.T) {
	w := newWorld(t)
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{MoveGrace: &metav1.Duration{}})
	w.serve("web", "web-1")
	w.serve("api", "api-1")
	foreign := w.class + "-foreign"
	w.create(w.ingressClass(foreign, "example.com/other"))
	for _, name := range []string{"stays", "changes", "leaves", "goes"} {
		w.create(w.ask(name, name+".example", "/", "web"))
	}
	for _, name := range []string{"stays", "changes", "leaves", "goes"} {
		w.answers(name, "http://"+name+".example/", "web-1")
	}
	w.calm()
	writes := w.cloud.writes.Load()
	if err := w.Delete(t.Context(), w.ingressClass(w.class, "")); err != nil {
		t.Fatal(err)
	}
	w.told("stays", "ClassMissing")
	w.told("stays", "LastGood")
	w.is("stays", v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonClassMissing)
	w.is("stays", v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonClassMissing)
	w.is("stays", v1alpha1.ConditionProgrammed, metav1.ConditionTrue, v1alpha1.ReasonProgrammed)
	for _, restarted := range []bool{false, true} {
		if restarted {
			w.stop()
			w.run()
		}
		w.change("changes", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "api" })
		w.calm()
		w.answers("stays", "http://stays.example/", "web-1")
		w.answers("changes", "http://changes.example/", "web-1")
	}
	if n := w.cloud.writes.Load() - writes; n > 0 {
		t.Errorf("%d writes though the class is missing", n)
	}

	w.create(w.ask("comes", "comes.example", "/", "web"))
	w.told("comes", "ClassMissing")
	w.remove("goes")
	w.change("leaves", func(i *networkingv1.Ingress) { i.Spec.IngressClassName = &foreign })
	w.released("leaves")
	w.answers("stays", "http://stays.example/", "web-1")

	w.create(w.ingressClass(w.class, ingress.ControllerName))
	w.answers("changes", "http://changes.example/", "api-1")
	w.answers("comes", "http://comes.example/", "web-1")
	w.answers("stays", "http://stays.example/", "web-1")
	w.is("stays", v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted)
	w.is("stays", v1alpha1.ConditionDegraded, metav1.ConditionFalse, v1alpha1.ReasonAsExpected)

	// Who names a class that is not there has lost his own, and nobody else's.
	w.change("stays", func(i *networkingv1.Ingress) { i.Spec.IngressClassName = new("not-there") })
	w.is("stays", v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonMembersRefused)
	w.is("stays", v1alpha1.ConditionDegraded, metav1.ConditionFalse, v1alpha1.ReasonAsExpected)
}

// is waits until the load balancer of an Ingress has a condition, for a reason.
func (w *world) is(ingress, kind string, status metav1.ConditionStatus, reason string) {
	w.Helper()
	w.eventually(func() error {
		c := meta.FindStatusCondition(w.balancer(ingress).Status.Conditions, kind)
		return noError(c != nil && c.Status == status && c.Reason == reason, "%s of %s is %+v, want %s because of %s", kind, ingress, c, status, reason)
	})
}

func (w *world) ingressClass(name, controller string) *networkingv1.IngressClass {
	return &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressClassSpec{Controller: controller}}
}

// released waits until nothing of ours is on an Ingress.
func (w *world) released(name string) {
	w.Helper()
	w.eventually(func() error {
		i := w.ingress(name)
		return noError(len(i.Finalizers) == 0 && len(i.Status.LoadBalancer.Ingress) == 0, "%s still has %v and %v", name, i.Finalizers, i.Status)
	})
}
