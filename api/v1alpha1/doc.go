// Package v1alpha1 holds the resources of fairlead.dev: the parameters of a class of load
// balancers, in a cluster-wide and a namespaced kind, and Backend, what a path of an Ingress can
// refer to besides a Service.
//
// +kubebuilder:object:generate=true
// +groupName=fairlead.dev
package v1alpha1

//go:generate controller-gen object paths=.
