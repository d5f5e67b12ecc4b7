package objects

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/secrets"
)

// This file lists the Kubernetes objects that the compiler reads.

// Objects are the Kubernetes objects that the compiler reads, in any order.
type Objects struct {
	Ingresses                  []*networkingv1.Ingress
	IngressClasses             []*networkingv1.IngressClass
	LoadBalancerClasses        []*v1alpha1.LoadBalancerClass
	ClusterLoadBalancerClasses []*v1alpha1.ClusterLoadBalancerClass
	Backends                   []*v1alpha1.Backend
	Services                   []*corev1.Service
	EndpointSlices             []*discoveryv1.EndpointSlice
	Secrets                    []*corev1.Secret
	// of Secrets that have been judged before
	Judged          map[*corev1.Secret]secrets.Certificate
	SecretsWithheld string            // which of those that are there are not among these; "" for none
	SecretsUnread   map[string]string // why a Secret could not be read, by namespace/name
	Namespaces      []*corev1.Namespace
	Nodes           []*corev1.Node // read only where targets are instances
	NodesUnread     string         // why they could not be read; "" if they were
	Pods            []*corev1.Pod  // behind endpoints
	// PodsKnown says that the Pods are all that there are. Otherwise an endpoint whose Pod is not
	// among them is taken for what it says.
	PodsKnown bool
	// Awaited are claims of which the Pods may follow: those who watch see EndpointSlices and Pods
	// come in any order. Nothing is said of these yet.
	Awaited map[endpoints.Claim]bool

	// Memories are the records of load balancers.
	Memories map[routing.Key]memory.LoadBalancer
}
