package controllers

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file names objects of the cluster.

// A ref is an object that a load balancer depends on, whether or not it exists.
type ref struct {
	kind, namespace, name string
}

// The kinds that are referred to.
const (
	kindBackend   = "Backend"
	kindIngress   = "Ingress"
	kindNamespace = "Namespace"
	kindPod       = "Pod"
	kindSecret    = "Secret"
	kindService   = "Service"
)

// String is namespace/name, as Memory and diagnostics spell it.
func (r ref) String() string { return r.namespace + "/" + r.name }

// refTo names an object.
func refTo(kind, namespace, name string) ref { return ref{kind, namespace, name} }

// refOf names an object that was read.
func refOf(kind string, o client.Object) ref { return refTo(kind, o.GetNamespace(), o.GetName()) }

// refFrom is the object of a namespace/name.
func refFrom(kind, object string) ref {
	namespace, name, _ := strings.Cut(object, "/")
	return ref{kind, namespace, name}
}
