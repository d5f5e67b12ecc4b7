package ingress

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/secrets"
)

// This file finds objects by name, and for the members of a load balancer the objects that they
// refer to.

// An index is objects by name.
type index struct {
	backends   map[name]*v1alpha1.Backend
	services   map[name]*corev1.Service
	slices     map[name][]*discoveryv1.EndpointSlice // by Service
	secrets    map[name]*corev1.Secret
	judged     map[*corev1.Secret]secrets.Certificate
	withheld   string
	unread     map[string]string // why a Secret could not be read, by namespace/name
	namespaces map[name]*corev1.Namespace
	nodes      []*corev1.Node
	pods       map[name]*corev1.Pod
	podsKnown  bool
	awaited    map[endpoints.Claim]bool
	taken      map[name]bool // Services that were taken over from another index, with what is behind them
}

func newIndex(o Objects) *index {
	x := &index{
		backends:   byName(o.Backends),
		services:   byName(o.Services),
		slices:     map[name][]*discoveryv1.EndpointSlice{},
		secrets:    byName(o.Secrets),
		judged:     o.Judged,
		withheld:   o.SecretsWithheld,
		unread:     o.SecretsUnread,
		namespaces: byName(o.Namespaces),
		nodes:      o.Nodes,
		pods:       byName(o.Pods),
		podsKnown:  o.PodsKnown,
		awaited:    o.Awaited,
	}
	for _, s := range o.EndpointSlices {
		service := name{s.Namespace, s.Labels[discoveryv1.LabelServiceName]}
		x.slices[service] = append(x.slices[service], s)
	}
	return x
}

// objects are those of the index, sorted by name.
func (x *index) objects() Objects {
	o := Objects{
		Backends:        sorted(x.backends),
		Services:        sorted(x.services),
		Secrets:         sorted(x.secrets),
		Judged:          x.judged,
		SecretsWithheld: x.withheld,
		SecretsUnread:   x.unread,
		Namespaces:      sorted(x.namespaces),
		Nodes:           x.nodes,
		Pods:            sorted(x.pods),
		PodsKnown:       x.podsKnown,
		Awaited:         x.awaited,
	}
	for _, slicesOfService := range sorted(x.slices) {
		o.EndpointSlices = append(o.EndpointSlices, slicesOfService...)
	}
	slices.SortFunc(o.EndpointSlices, func(a, b *discoveryv1.EndpointSlice) int { return compareNames(nameOf(a), nameOf(b)) })
	return o
}

// behind is a Service with what stands behind it.
func (x *index) behind(service name) endpoints.Objects {
	return endpoints.Objects{
		Service: x.services[service], Slices: x.slices[service], Nodes: x.nodes,
		Pods: slices.Collect(maps.Values(x.podsOf(service))), PodsKnown: x.podsKnown, Awaited: x.awaited,
	}
}

// podsOf are the Pods that are known of the endpoints of a Service.
func (x *index) podsOf(service name) map[name]*corev1.Pod {
	out := map[name]*corev1.Pod{}
	for _, s := range x.slices[service] {
		for _, e := range s.Endpoints {
			if pod := endpoints.PodOf(s, e); pod != "" {
				pick(out, x.pods, name{s.Namespace, pod})
			}
		}
	}
	return out
}

// labels are those of a namespace. The API server labels every namespace with its name, so that
// much is known of one that is not among the objects.
func (x *index) labels(namespace string) map[string]string {
	labels := map[string]string{corev1.LabelMetadataName: namespace}
	if n := x.namespaces[name{name: namespace}]; n != nil {
		maps.Copy(labels, n.Labels)
	}
	return labels
}

// take copies from another index what an Ingress depends on.
func (x *index) take(from *index, ing *networkingv1.Ingress) {
	for b := range backendsOf(&ing.Spec) {
		x.takeBackend(from, ing.Namespace, b)
	}
	for _, t := range ing.Spec.TLS {
		x.takeSecret(from, name{ing.Namespace, t.SecretName})
	}
	pick(x.namespaces, from.namespaces, name{name: ing.Namespace})
}

// judge is the judgement of a Secret, which those who made the objects may have kept.
func (x *index) judge(s *corev1.Secret) secrets.Certificate {
	if j, known := x.judged[s]; known {
		return j
	}
	return secrets.ReadCertificate(s)
}

func (x *index) takeBackend(from *index, namespace string, b *networkingv1.IngressBackend) {
	if b.Service != nil {
		x.takeService(from, name{namespace, b.Service.Name})
	}
	if b.Resource == nil {
		return
	}
	n := name{namespace, b.Resource.Name}
	pick(x.backends, from.backends, n)
	if resource := from.backends[n]; resource != nil {
		for _, s := range resource.Spec.Services {
			x.takeService(from, name{namespace, s.Name})
		}
		if secret := SecretOf(resource); secret != "" {
			x.takeSecret(from, name{namespace, secret})
		}
	}
}

func (x *index) takeSecret(from *index, n name) {
	pick(x.secrets, from.secrets, n)
	if why := from.unread[n.String()]; why != "" {
		if x.unread == nil {
			x.unread = map[string]string{}
		}
		x.unread[n.String()] = why
	}
}

func (x *index) takeService(from *index, n name) {
	if x.taken[n] {
		return // a Service with many ports is named many times
	}
	if x.taken == nil {
		x.taken = map[name]bool{}
	}
	x.taken[n] = true
	pick(x.services, from.services, n)
	pick(x.slices, from.slices, n)
	maps.Copy(x.pods, from.podsOf(n))
}

// unreadSecret says that a Secret could not be read, and why; "" if there is no such failure.
func (x *index) unreadSecret(n name) string {
	why := x.unread[n.String()]
	if why == "" {
		return ""
	}
	return fmt.Sprintf("Secret %s could not be read (%s)", n, why)
}
