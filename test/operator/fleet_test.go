package operator

import (
	"fmt"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file is the Ingresses whose cost is counted: one group, each with its own host and four
// paths to its own Service of two pods.

// site is the name of one of the Ingresses, and backend of its Service.
func site(i int) string    { return fmt.Sprintf("site-%03d", i) }
func backend(i int) string { return fmt.Sprintf("service-%d", i) }

// pods are the addresses of a Service's pods.
func pods(service, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("10.0.%d.%d", 110+service, 10+i))
	}
	return out
}

// ingress is one of a group, with a host that goes by its name.
func (w *world) ingress(name, to string, paths ...string) *networkingv1.Ingress {
	prefix := networkingv1.PathTypePrefix
	var http networkingv1.HTTPIngressRuleValue
	for _, p := range paths {
		http.Paths = append(http.Paths, networkingv1.HTTPIngressPath{Path: p, PathType: &prefix, Backend: networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: to, Port: networkingv1.ServiceBackendPort{Number: 80}},
		}})
	}
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Annotations: map[string]string{"fairlead.dev/group": "all"}},
		Spec: networkingv1.IngressSpec{IngressClassName: &w.namespace, Rules: []networkingv1.IngressRule{{
			Host: name + ".example.com", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &http},
		}}},
	}
}

// sited is one of the Ingresses whose cost is counted.
func (w *world) sited(i int) *networkingv1.Ingress {
	return w.ingress(site(i), backend(i), "/", "/api", "/img", "/static")
}

// edit changes an object of the API server.
func edit[T client.Object](t *testing.T, w *world, o T, name string, by func(T)) {
	t.Helper()
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o); err != nil {
		t.Fatal(err)
	}
	by(o)
	if err := w.Update(t.Context(), o); err != nil {
		t.Fatalf("changing %T %s: %s", o, name, err)
	}
}

// point sends all paths of an Ingress to a Service.
func (w *world) point(t *testing.T, name, service string) {
	t.Helper()
	edit(t, w, &networkingv1.Ingress{}, name, func(ing *networkingv1.Ingress) {
		for i := range ing.Spec.Rules[0].HTTP.Paths {
			ing.Spec.Rules[0].HTTP.Paths[i].Backend.Service.Name = service
		}
	})
}

// resize makes the pods of a Service those at some addresses, all of them ready.
func (w *world) resize(t *testing.T, service string, addresses []string) {
	t.Helper()
	ready := w.endpoints(t, service, addresses...).Endpoints
	time.Sleep(time.Second) // Pods are there before they are ready, and the operator has seen them
	edit(t, w, &discoveryv1.EndpointSlice{}, service, func(s *discoveryv1.EndpointSlice) { s.Endpoints = ready })
}
