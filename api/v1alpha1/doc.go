// Package v1alpha1 holds the resources of fairlead.dev: the parameters of a class of load
// balancers, in a cluster-wide and a namespaced kind; Backend, what a path of an Ingress can refer
// to besides a Service; and LoadBalancer, what the operator reports and remembers of each.
//
// What a schema can say, the API server checks when an object is written. The compiler checks the
// same again: objects come from files too, and from before a check was there.
//
// +kubebuilder:object:generate=true
// +groupName=fairlead.dev
package v1alpha1

//go:generate controller-gen object crd output:crd:dir=../../config/crd paths=.
