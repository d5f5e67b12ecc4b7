package controllers_test

import (
	"fmt"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
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
	w.calm()
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
