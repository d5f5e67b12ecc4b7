// Package cluster reads Kubernetes: from caches, from the API server where a cache may be behind,
// and Secrets by their names. It knows which load balancers depend on which objects.
package cluster

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file names objects of the cluster.

// Ref is an object that a load balancer depends on, whether or not it exists.
type Ref struct {
	kind, Namespace, Name string
}

// The kinds that are referred to.
const (
	KindBackend   = "Backend"
	KindIngress   = "Ingress"
	KindNamespace = "Namespace"
	KindPod       = "Pod"
	KindSecret    = "Secret"
	KindService   = "Service"
)

// String returns namespace/name, as records and diagnostics spell it.
func (r Ref) String() string { return r.Namespace + "/" + r.Name }

// RefTo names an object.
func RefTo(kind, namespace, name string) Ref { return Ref{kind, namespace, name} }

// RefOf names an object that was read.
func RefOf(kind string, o client.Object) Ref { return RefTo(kind, o.GetNamespace(), o.GetName()) }

// RefFrom names the object of a namespace/name.
func RefFrom(kind, object string) Ref {
	namespace, name, _ := strings.Cut(object, "/")
	return Ref{kind, namespace, name}
}
