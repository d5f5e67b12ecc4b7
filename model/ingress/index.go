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
)

// This file finds objects by name, and the objects that the members of a load balancer refer to.

// An Index holds objects by name.
type Index struct {
	Backends        map[Name]*v1alpha1.Backend
	Services        map[Name]*corev1.Service
	EndpointSlices  map[Name][]*discoveryv1.EndpointSlice // by Service
	Secrets         map[Name]*corev1.Secret
	Certificates    map[*corev1.Secret]SecretCertificate
	SecretsWithheld string
	SecretsUnread   map[string]string // the reason why a Secret could not be read, by namespace/name
	Namespaces      map[Name]*corev1.Namespace
	Nodes           []*corev1.Node
	pods            map[Name]*corev1.Pod
	PodsKnown       bool
	Awaited         map[endpoints.Claim]bool
	// Services that were copied from another index, with their endpoints and Pods
	taken map[Name]bool
}

func newIndex(o Objects) *Index {
	x := &Index{
		Backends:        byName(o.Backends),
		Services:        byName(o.Services),
		EndpointSlices:  map[Name][]*discoveryv1.EndpointSlice{},
		Secrets:         byName(o.Secrets),
		Certificates:    o.Certificates,
		SecretsWithheld: o.SecretsWithheld,
		SecretsUnread:   o.SecretsUnread,
		Namespaces:      byName(o.Namespaces),
		Nodes:           o.Nodes,
		pods:            byName(o.Pods),
		PodsKnown:       o.PodsKnown,
		Awaited:         o.Awaited,
	}
	for _, s := range o.EndpointSlices {
		service := Name{s.Namespace, s.Labels[discoveryv1.LabelServiceName]}
		x.EndpointSlices[service] = append(x.EndpointSlices[service], s)
	}
	return x
}

// objects returns the objects of the index, sorted by name.
func (x *Index) objects() Objects {
	o := Objects{
		Backends:        sorted(x.Backends),
		Services:        sorted(x.Services),
		Secrets:         sorted(x.Secrets),
		Certificates:    x.Certificates,
		SecretsWithheld: x.SecretsWithheld,
		SecretsUnread:   x.SecretsUnread,
		Namespaces:      sorted(x.Namespaces),
		Nodes:           x.Nodes,
		Pods:            sorted(x.pods),
		PodsKnown:       x.PodsKnown,
		Awaited:         x.Awaited,
	}
	for _, slicesOfService := range sorted(x.EndpointSlices) {
		o.EndpointSlices = append(o.EndpointSlices, slicesOfService...)
	}
	slices.SortFunc(o.EndpointSlices,
		func(a, b *discoveryv1.EndpointSlice) int { return compareNames(nameOf(a), nameOf(b)) })
	return o
}

// endpointsOf returns a Service with its EndpointSlices, Pods and Nodes.
func (x *Index) endpointsOf(service Name) endpoints.Objects {
	return endpoints.Objects{
		Service: x.Services[service], Slices: x.EndpointSlices[service], Nodes: x.Nodes,
		Pods: slices.Collect(maps.Values(x.podsOf(service))), PodsKnown: x.PodsKnown, Awaited: x.Awaited,
	}
}

// podsOf returns the known Pods of the endpoints of a Service.
func (x *Index) podsOf(service Name) map[Name]*corev1.Pod {
	out := map[Name]*corev1.Pod{}
	for _, s := range x.EndpointSlices[service] {
		for _, e := range s.Endpoints {
			if pod := endpoints.PodOf(s, e); pod != "" {
				pick(out, x.pods, Name{s.Namespace, pod})
			}
		}
	}
	return out
}

// namespaceLabels returns the labels of a namespace. The API server labels every namespace with its
// name, so this label is known even if the namespace is not among the objects.
func (x *Index) namespaceLabels(namespace string) map[string]string {
	labels := map[string]string{corev1.LabelMetadataName: namespace}
	if n := x.Namespaces[Name{Name: namespace}]; n != nil {
		maps.Copy(labels, n.Labels)
	}
	return labels
}

// copyDependencies copies from another index what a member depends on.
func (x *Index) copyDependencies(from *Index, m Member) {
	for b := range backendsOf(&m.Spec) {
		x.takeBackend(from, m.Namespace, b, m.Settings.Backends)
	}
	for _, t := range m.Spec.TLS {
		x.takeSecret(from, Name{m.Namespace, t.SecretName})
	}
	pick(x.Namespaces, from.Namespaces, Name{Name: m.Namespace})
}

// certificateOf returns the certificate in a Secret, from Certificates if it was read before.
func (x *Index) certificateOf(s *corev1.Secret) SecretCertificate {
	if j, known := x.Certificates[s]; known {
		return j
	}
	return ReadCertificate(s)
}

func (x *Index) takeBackend(from *Index, namespace string, b *networkingv1.IngressBackend,
	own map[string]*v1alpha1.BackendSpec) {
	if b.Service != nil {
		x.takeService(from, Name{namespace, b.Service.Name})
	}
	if b.Resource == nil {
		return
	}
	spec := own[b.Resource.Name]
	if spec == nil {
		n := Name{namespace, b.Resource.Name}
		pick(x.Backends, from.Backends, n)
		if from.Backends[n] == nil {
			return
		}
		spec = &from.Backends[n].Spec
	}
	for _, s := range spec.Services {
		if s.Name == "" { // a target group of others
			continue
		}
		x.takeService(from, Name{namespace, s.Name})
	}
	if secret := SecretOf(spec); secret != "" {
		x.takeSecret(from, Name{namespace, secret})
	}
}

func (x *Index) takeSecret(from *Index, n Name) {
	pick(x.Secrets, from.Secrets, n)
	if why := from.SecretsUnread[n.String()]; why != "" {
		if x.SecretsUnread == nil {
			x.SecretsUnread = map[string]string{}
		}
		x.SecretsUnread[n.String()] = why
	}
}

func (x *Index) takeService(from *Index, n Name) {
	if x.taken[n] {
		return // a Service with many ports is named many times
	}
	if x.taken == nil {
		x.taken = map[Name]bool{}
	}
	x.taken[n] = true
	pick(x.Services, from.Services, n)
	pick(x.EndpointSlices, from.EndpointSlices, n)
	maps.Copy(x.pods, from.podsOf(n))
}

// whySecretUnread returns why a Secret could not be read; "" if it could.
func (x *Index) whySecretUnread(n Name) string {
	why := x.SecretsUnread[n.String()]
	if why == "" {
		return ""
	}
	return fmt.Sprintf("Secret %s could not be read (%s)", n, why)
}
