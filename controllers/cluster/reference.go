// Package cluster reads Kubernetes: from caches, from the API server where a cache may be behind,
// and Secrets by their names. It knows which load balancers depend on which objects.
package cluster

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file names objects of the cluster.

// A Ref names an object that a load balancer depends on. The object need not exist.
type Ref struct {
	Kind, Namespace, Name string
}

// The kinds that are referred to.
const (
	KindBackend      = "Backend"
	KindConfigMap    = "ConfigMap"
	KindIngress      = "Ingress"
	KindIngressClass = "IngressClass"
	KindNamespace    = "Namespace"
	KindPod          = "Pod"
	KindSecret       = "Secret"
	KindService      = "Service"
)

// String returns namespace/name, as records and diagnostics spell it.
func (r Ref) String() string { return r.Namespace + "/" + r.Name }

// Key returns the name of an object among those of all kinds.
func (r Ref) Key() string { return r.Kind + "/" + r.String() }

// RefTo names an object.
func RefTo(kind, namespace, name string) Ref { return Ref{kind, namespace, name} }

// RefOf names an object that was read.
func RefOf(kind string, o client.Object) Ref { return RefTo(kind, o.GetNamespace(), o.GetName()) }

// RefFrom names the object of a namespace/name.
func RefFrom(kind, object string) Ref {
	namespace, name, _ := strings.Cut(object, "/")
	return Ref{kind, namespace, name}
}

// ParametersRef returns the parameters of Fairlead that an IngressClass refers to. It reports
// whether the class exists and has such a reference.
func ParametersRef(class *networkingv1.IngressClass) (Ref, bool) {
	if class == nil {
		return Ref{}, false
	}
	p := class.Spec.Parameters
	if p == nil || p.APIGroup == nil || *p.APIGroup != v1alpha1.Group {
		return Ref{}, false
	}
	r := RefTo(p.Kind, "", p.Name)
	if p.Namespace != nil {
		r.Namespace = *p.Namespace
	}
	return r, true
}
