package ingress

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// This file lists the Kubernetes objects that the compiler reads.

// Objects are the Kubernetes objects that the compiler reads, in any order.
type Objects struct {
	Ingresses                  []*networkingv1.Ingress
	IngressClasses             []*networkingv1.IngressClass
	Dialects                   map[string]string // of IngressClasses that are taken from another controller, by name
	LoadBalancerClasses        []*v1alpha1.LoadBalancerClass
	ClusterLoadBalancerClasses []*v1alpha1.ClusterLoadBalancerClass
	IngressClassParams         []*alb.IngressClassParams // of the AWS Load Balancer Controller
	TargetGroupBindings        []*alb.TargetGroupBinding // likewise
	Backends                   []*v1alpha1.Backend
	Services                   []*corev1.Service
	EndpointSlices             []*discoveryv1.EndpointSlice
	Secrets                    []*corev1.Secret
	// certificates of Secrets that were parsed before
	Certificates    map[*corev1.Secret]SecretCertificate
	SecretsWithheld string            // the existing Secrets that are missing here; "" for none
	SecretsUnread   map[string]string // the reason why a Secret could not be read, by namespace/name
	Namespaces      []*corev1.Namespace
	Nodes           []*corev1.Node // read only where targets are instances
	NodesUnread     string         // the reason why they could not be read; "" if they were
	Pods            []*corev1.Pod  // behind endpoints
	// Beside are Ingresses that are not placed. In a dialect, they say something about those that are.
	Beside []*networkingv1.Ingress
	// PodsKnown: all Pods are here. Otherwise endpoints without their Pod here are used without a
	// check.
	PodsKnown bool
	// Awaited has claims whose Pods may follow, as watches deliver EndpointSlices and Pods in any
	// order. They are not reported yet.
	Awaited map[endpoints.Claim]bool

	// Records are the records of load balancers.
	Records map[routing.Key]record.Record
}
