package controllers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/test/kube"
)

// This file has Ingresses of another controller, as a class with a dialect serves them.

// inDialect makes the world's class read Ingresses of the AWS Load Balancer Controller.
func (w *world) inDialect() {
	w.Helper()
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{Dialect: v1alpha1.DialectALB, TargetType: v1alpha1.TargetTypeIP})
}

// answered is a fixed response in the words of the AWS Load Balancer Controller.
func answered(body string) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) {
		i.Annotations["alb.ingress.kubernetes.io/actions.web"] = fmt.Sprintf(
			`{"type": "fixed-response", "fixedResponseConfig": {"statusCode": "200", "contentType": "text/plain", "messageBody": %q}}`, body)
		i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Port = networkingv1.ServiceBackendPort{Name: "use-annotation"}
	}
}

// TestATrialBesideTheAWSLoadBalancerController plans the Ingresses of that one's class, and writes reports alone.
func TestATrialBesideTheAWSLoadBalancerController(t *testing.T) {
	w := newWorld(t)
	w.stop()
	class := w.ingressClass(w.class+"-aws", alb.Controller)
	w.create(class)
	w.serve("web", "web-1")
	ing := w.ask("shop", "shop.test", "/", "web")
	ing.Spec.IngressClassName = &class.Name
	answered("one")(ing)
	w.create(ing)
	before := w.ingress("shop")

	w.run(func(s *settings) { s.operator.ReadOnly, s.operator.Classes.From = true, v1alpha1.DialectALB })
	report := &v1alpha1.LoadBalancer{}
	plans := func(says string) func() error {
		return func() error {
			name := v1alpha1.Name(strings.Join([]string{class.Name, w.namespace, "shop", v1alpha1.SchemeInternal}, "/"), w.namespace)
			if err := w.Get(t.Context(), client.ObjectKey{Name: name + ".read-only"}, report); err != nil {
				return err
			}
			return noError(report.Status.LastPlan != nil && strings.Contains(fmt.Sprint(report.Status.LastPlan.Steps), says),
				"it plans %+v", report.Status.LastPlan)
		}
	}
	w.eventually(plans("fixed 200"))

	// The parameters of the class's name are read, also where the class refers to none.
	w.create(&v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: class.Name},
		Spec: v1alpha1.LoadBalancerClassSpec{ListenPorts: []v1alpha1.ListenPort{{Protocol: "HTTP", Port: 8081}}}})
	w.eventually(plans("8081"))
	if now := w.ingress("shop"); now.ResourceVersion != before.ResourceVersion {
		t.Errorf("the Ingress was written: %+v", now)
	}
	if n := w.cloud.writes.Load(); n > 0 {
		t.Errorf("%d writes to the cloud", n)
	}
}

func TestAnIngressInADialectIsServed(t *testing.T) {
	w := newWorld(t)
	w.inDialect()
	w.serve("web", "web-1")
	ing := w.ask("shop", "shop.test", "/", "web")
	answered("one")(ing)
	w.create(ing)
	w.answers("shop", "http://shop.test/", "one")

	w.change("shop", answered("two"))
	w.answers("shop", "http://shop.test/", "two")

	// A mistake costs no request, and an operator that begins anew serves the last version, too.
	w.change("shop", annotate("alb.ingress.kubernetes.io/actions.web", "{"))
	w.told("shop", string(diag.AnnotationForeign))
	w.calm()
	w.answers("shop", "http://shop.test/", "two")
	w.stop()
	w.run()
	w.calm()
	w.answers("shop", "http://shop.test/", "two")

	// The dialect can be switched off and on.
	w.change("shop", answered("three"))
	w.answers("shop", "http://shop.test/", "three")
	parameters := &v1alpha1.ClusterLoadBalancerClass{}
	if err := w.Get(w.Context(), client.ObjectKey{Name: w.class}, parameters); err != nil {
		t.Fatal(err)
	}
	parameters.Spec.Dialect = ""
	if err := w.Update(w.Context(), parameters); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		return noError(strings.Contains(strings.Join(w.notes("shop"), "\n"), "set `dialect: alb`"), "it is told %q", w.notes("shop"))
	})
	w.calm()
	w.answers("shop", "http://shop.test/", "three")
	parameters.Spec.Dialect = v1alpha1.DialectALB
	if err := w.Update(w.Context(), parameters); err != nil {
		t.Fatal(err)
	}
	w.calm()
	w.answers("shop", "http://shop.test/", "three")

	if err := w.Delete(w.Context(), w.ingress("shop")); err != nil {
		t.Fatal(err)
	}
	w.gone()
}

func TestAnIngressInADialectIsRefusedForItsService(t *testing.T) {
	w := newWorld(t)
	w.inDialect()
	w.serve("web", "web-1")
	w.annotateService("web", "alb.ingress.kubernetes.io/auth-type", "saml")
	w.create(w.ask("shop", "shop.test", "/", "web"))
	w.unserved("shop", diag.AnnotationForeign)
	w.eventually(func() error {
		return noError(strings.Contains(strings.Join(w.notes("shop"), "\n"), "auth-type of Service web"), "it is told %q", w.notes("shop"))
	})

	w.annotateService("web", "alb.ingress.kubernetes.io/auth-type", "none")
	w.answers("shop", "http://shop.test/", "web-1")

	w.annotateService("web", "alb.ingress.kubernetes.io/auth-type", "saml")
	w.calm()
	w.answers("shop", "http://shop.test/", "web-1")
}

// paramsDefinition is the CRD of IngressClassParams, without the rules for its fields.
const paramsDefinition = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "ingressclassparams.elbv2.k8s.aws"},
	"spec": {
		"group": "elbv2.k8s.aws", "scope": "Cluster",
		"names": {"plural": "ingressclassparams", "singular": "ingressclassparams", "kind": "IngressClassParams", "listKind": "IngressClassParamsList"},
		"versions": [{"name": "v1beta1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
			"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
		}}}]
	}
}`

// Parameters of the other controller restrict a class that reads its dialect: once its kind is installed,
// when they come, change and go, and whether the class refers to them or has their name.
func TestParametersOfTheOtherController(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Start(t, kube.Options{})) // which has the kinds of no other controller
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{
		Dialect: v1alpha1.DialectALB, TargetType: v1alpha1.TargetTypeIP, MoveGrace: &metav1.Duration{Duration: time.Second},
	})
	w.run()
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.test", "/", "web"))
	w.answers("shop", "http://shop.test/", "web-1")

	definition := &unstructured.Unstructured{}
	if err := definition.UnmarshalJSON([]byte(paramsDefinition)); err != nil {
		t.Fatal(err)
	}
	w.create(definition)
	params := func(spec string) *alb.IngressClassParams {
		return &alb.IngressClassParams{ObjectMeta: metav1.ObjectMeta{Name: w.class}, Spec: runtime.RawExtension{Raw: []byte(spec)}}
	}
	w.eventually(func() error {
		return w.Create(t.Context(), params(`{"namespaceSelector": {"matchLabels": {"team": "shop"}}}`))
	})
	w.told("shop", string(diag.HostNotAllowed))
	w.create(w.ask("late", "late.test", "/", "web"))
	w.unserved("late", diag.HostNotAllowed)

	// Without the restriction, they are served, though by an internal load balancer.
	edit := func(spec string) {
		t.Helper()
		found := &alb.IngressClassParams{}
		if err := w.Get(t.Context(), client.ObjectKey{Name: w.class}, found); err != nil {
			t.Fatal(err)
		}
		found.Spec.Raw = []byte(spec)
		if err := w.Update(t.Context(), found); err != nil {
			t.Fatal(err)
		}
	}
	scheme := func(want string) {
		t.Helper()
		w.eventually(func() error {
			var list v1alpha1.LoadBalancerList
			err := w.List(t.Context(), &list)
			keys := []string{}
			for _, b := range list.Items {
				keys = append(keys, b.Spec.Key)
			}
			return errors.Join(err, noError(len(keys) == 2 && !slices.ContainsFunc(keys, func(k string) bool { return !strings.HasSuffix(k, "/"+want) }),
				"the load balancers are %q, want two of scheme %s", keys, want))
		})
	}
	edit(`{"scheme": "internet-facing"}`)
	w.answers("shop", "http://shop.test/", "web-1")
	w.answers("late", "http://late.test/", "web-1")
	scheme(v1alpha1.SchemeInternetFacing)
	edit(`{"scheme": "internal"}`)
	scheme(v1alpha1.SchemeInternal)

	// A restriction that cannot be followed: what is served is served on, and the class takes no more.
	edit(`{"scheme": "internal", "denyPaths": ["/admin"]}`)
	w.create(w.ask("third", "third.test", "/", "web"))
	w.told("third", string(diag.ParametersForeign))
	w.answers("shop", "http://shop.test/", "web-1")

	// The same by reference, without parameters of Fairlead, and after they were deleted.
	class := &networkingv1.IngressClass{}
	if err := w.Get(t.Context(), client.ObjectKey{Name: w.class}, class); err != nil {
		t.Fatal(err)
	}
	class.Spec.Parameters.APIGroup, class.Spec.Parameters.Kind = new("elbv2.k8s.aws"), "IngressClassParams"
	if err := w.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	edit(`{"scheme": "internet-facing"}`)
	w.answers("third", "http://third.test/", "web-1")
	if err := w.Delete(t.Context(), params("")); err != nil {
		t.Fatal(err)
	}
	w.create(w.ask("fourth", "fourth.test", "/", "web"))
	w.unserved("fourth", diag.ParametersMissing)
	w.answers("third", "http://third.test/", "web-1")

	// An operator that begins anew has the kind at once.
	w.stop()
	w.create(params(`{}`))
	w.run()
	w.answers("fourth", "http://fourth.test/", "web-1")
}

// TestIngressesOfNGINXAreServed has two Ingresses of one host, of which the second makes the paths of both expressions, and a
// canary of the first.
func TestIngressesOfNGINXAreServed(t *testing.T) {
	w := newWorld(t)
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{Dialect: v1alpha1.DialectNGINX})
	for _, name := range []string{"web", "api", "next"} {
		w.serve(name, name+"-1")
	}
	w.create(w.ask("shop", "shop.test", "/shop", "web"))
	w.answers("shop", "http://shop.test/shop/x", "web-1")
	w.answers("shop", "http://shop.test/SHOP", "404")

	second := w.ask("api", "shop.test", "/api/(.*)", "api")
	second.Annotations["nginx.ingress.kubernetes.io/use-regex"] = "true"
	w.create(second)
	w.answers("shop", "http://shop.test/API/x", "api-1")
	w.answers("shop", "http://shop.test/SHOP", "web-1")

	canary := w.ask("canary", "shop.test", "/shop", "next")
	canary.Annotations["nginx.ingress.kubernetes.io/canary"] = "true"
	canary.Annotations["nginx.ingress.kubernetes.io/canary-weight"] = "100"
	w.create(canary)
	w.answers("shop", "http://shop.test/shop", "next-1")
	if err := w.Delete(w.Context(), w.ingress("canary")); err != nil {
		t.Fatal(err)
	}
	w.answers("shop", "http://shop.test/shop", "web-1")
	w.calm()
}
