package alb

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/keypair"
)

// This file puts into the cluster what Ingresses refer to besides Services, and changes them. What
// is changed is replaced, as an API server does: who has read the old object keeps it.

// change replaces an Ingress by one that differs.
func (w *world) change(name string, by func(*networkingv1.Ingress)) {
	w.Helper()
	at := slices.IndexFunc(w.Ingresses, func(i *networkingv1.Ingress) bool { return i.Name == name })
	if at < 0 {
		w.Fatalf("there is no Ingress %s", name)
	}
	w.Ingresses[at] = w.Ingresses[at].DeepCopy()
	by(w.Ingresses[at])
}

// point sends all paths of an Ingress to a Service.
func (w *world) point(ingress, service string) {
	w.Helper()
	w.change(ingress, func(ing *networkingv1.Ingress) {
		for r := range ing.Spec.Rules {
			for p := range ing.Spec.Rules[r].HTTP.Paths {
				ing.Spec.Rules[r].HTTP.Paths[p].Backend.Service.Name = service
			}
		}
	})
}

// drop deletes a Service with its endpoints.
func (w *world) drop(service string) {
	at := slices.IndexFunc(w.Services, func(s *corev1.Service) bool { return s.Name == service })
	w.Services, w.EndpointSlices = slices.Delete(w.Services, at, at+1), slices.Delete(w.EndpointSlices, at, at+1)
}

// replacePods exchanges all pods of a Service for others.
func (w *world) replacePods(service string) {
	w.serial++
	w.numbers[service] = w.serial
	w.service(service, 2)
}

// nodes adds nodes, which are instances too.
func (w *world) nodes(number int) {
	for i := range number {
		id, address := fmt.Sprintf("i-%d", i), fmt.Sprintf("10.0.100.%d", 10+i)
		w.sim.AddInstance(id, "subnet-private0", address)
		w.Nodes = append(w.Nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)},
			Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-west-1a/" + id},
			Status: corev1.NodeStatus{
				Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}},
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		})
	}
}

// backendNamed adds a Backend, or replaces it.
func (w *world) backendNamed(name string, spec v1alpha1.BackendSpec) {
	w.Backends = slices.DeleteFunc(slices.Clone(w.Backends), func(b *v1alpha1.Backend) bool { return b.Name == name })
	w.Backends = append(w.Backends, &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: spec})
}

// weighted shares requests between two Services.
func weighted(one string, share int32, other string, rest int32) v1alpha1.BackendSpec {
	port := v1alpha1.ServicePort{Number: 80}
	return v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{
		{Name: one, Port: port, Weight: &share}, {Name: other, Port: port, Weight: &rest},
	}}
}

// toResource is a Backend as Ingresses refer to it.
func toResource(name string) networkingv1.IngressBackend {
	group := v1alpha1.Group
	return networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: "Backend", Name: name}}
}

// secret adds a TLS Secret for hosts, or replaces it; each edition is another certificate.
func (w *world) secret(name string, edition int, hosts ...string) {
	w.Helper()
	w.keep(name, pair(w, edition, hosts))
}

// keep puts a certificate into a TLS Secret.
func (w *world) keep(name string, pair *routing.KeyPair) {
	w.Secrets = slices.DeleteFunc(slices.Clone(w.Secrets), func(s *corev1.Secret) bool { return s.Name == name })
	w.Secrets = append(w.Secrets, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Type: corev1.SecretTypeTLS,
		Data: keypair.Data(pair),
	})
}

// tls lets an Ingress be served over HTTPS with a Secret.
func tls(secret string, hosts ...string) func(*networkingv1.Ingress) {
	return func(ing *networkingv1.Ingress) {
		ing.Spec.TLS = append(ing.Spec.TLS, networkingv1.IngressTLS{SecretName: secret, Hosts: hosts})
	}
}

// fallBackTo gives an Ingress a default backend.
func fallBackTo(service string) func(*networkingv1.Ingress) {
	return func(ing *networkingv1.Ingress) {
		ing.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Number: 80}}}
	}
}

// pairs keeps those that were made: the same edition for the same hosts is the same certificate.
var pairs sync.Map

func pair(w *world, edition int, hosts []string) *routing.KeyPair {
	w.Helper()
	id := fmt.Sprintf("%d %s", edition, strings.Join(hosts, " "))
	known, ok := pairs.Load(id)
	if !ok {
		known, _ = pairs.LoadOrStore(id, keypair.For(w, hosts...))
	}
	return known.(*routing.KeyPair)
}
