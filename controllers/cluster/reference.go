// Package cluster reads Kubernetes: from caches, from the API server where a cache may be behind,
// and Secrets by their names. It knows which load balancers depend on which objects.
package cluster

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
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

// ParametersRefs returns the objects that can be parameters of an IngressClass: the one that it refers
// to and, of the other controller or beside that one's, the one with the name of the class or of that
// one. There are none if the class does not exist, or refers to none.
func ParametersRefs(class *networkingv1.IngressClass) []Ref {
	if class == nil {
		return nil
	}
	p := class.Spec.Parameters
	if p == nil && class.Spec.Controller == alb.Controller { // read with --from
		return []Ref{RefTo(v1alpha1.KindClusterLoadBalancerClass, "", class.Name)}
	} else if p == nil {
		return nil
	}
	switch {
	case ingress.IsForeign(p):
		return []Ref{
			RefTo(KindIngressClassParams, "", p.Name),
			RefTo(v1alpha1.KindClusterLoadBalancerClass, "", class.Name),
			RefTo(v1alpha1.KindClusterLoadBalancerClass, "", p.Name),
		}
	case p.APIGroup == nil || *p.APIGroup != v1alpha1.Group:
		return nil
	}
	own := RefTo(p.Kind, "", p.Name)
	if p.Namespace != nil {
		own.Namespace = *p.Namespace
	}
	return []Ref{own, RefTo(KindIngressClassParams, "", class.Name)}
}
