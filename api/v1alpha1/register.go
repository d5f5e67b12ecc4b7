package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// This file makes the kinds known to a scheme.

// Group is the API group, and the prefix of every annotation that Fairlead reads.
const Group = "fairlead.dev"

// The kinds, as references spell them.
const (
	KindLoadBalancerClass        = "LoadBalancerClass"
	KindClusterLoadBalancerClass = "ClusterLoadBalancerClass"
	KindBackend                  = "Backend"
	KindLoadBalancer             = "LoadBalancer"
)

var (
	// GroupVersion is what `apiVersion` of these kinds says.
	GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	AddToScheme   = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&LoadBalancerClass{}, &LoadBalancerClassList{},
		&ClusterLoadBalancerClass{}, &ClusterLoadBalancerClassList{},
		&Backend{}, &BackendList{},
		&LoadBalancer{}, &LoadBalancerList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
