package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// The operator reads and writes kinds of Kubernetes, and its own.
func TestTheKindsOfTheScheme(t *testing.T) {
	s := NewScheme()
	for _, o := range []runtime.Object{
		&networkingv1.Ingress{}, &networkingv1.IngressClass{}, &corev1.Service{}, &corev1.Secret{}, &corev1.Pod{}, &corev1.Node{}, &corev1.Namespace{},
		&corev1.ConfigMap{}, &discoveryv1.EndpointSlice{}, &eventsv1.Event{},
		&v1alpha1.LoadBalancer{}, &v1alpha1.LoadBalancerClass{}, &v1alpha1.ClusterLoadBalancerClass{}, &v1alpha1.Backend{},
	} {
		if kinds, _, err := s.ObjectKinds(o); err != nil || len(kinds) != 1 {
			t.Errorf("a %T is of the kinds %v, error %v", o, kinds, err)
		}
	}
}
