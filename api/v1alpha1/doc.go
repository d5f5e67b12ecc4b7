// Package v1alpha1 holds the resources of fairlead.dev: the parameters of a class of load
// balancers, in a cluster-wide and a namespaced kind; Backend, what a path of an Ingress can refer
// to besides a Service; and LoadBalancer, what the operator reports and remembers of each.
//
// The API server checks the rules of a schema when an object is written. The compiler checks them
// again: objects come from files too, and from before a check was there.
//
// +kubebuilder:object:generate=true
// +groupName=fairlead.dev
package v1alpha1

//go:generate controller-gen object crd output:crd:dir=../../config/crd paths=.
