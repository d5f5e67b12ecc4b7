package ingress

import (
	"cmp"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/diag"
)

// This file has the names of objects, and the places in objects that diagnostics point to.

// A name is a namespace and a name in it; a cluster-wide object has no namespace.
type name struct{ namespace, name string }

func nameOf(o metav1.Object) name { return name{o.GetNamespace(), o.GetName()} }

func (n name) String() string { return n.namespace + "/" + n.name }

func compareNames(a, b name) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

func byName[T metav1.Object](objects []T) map[name]T {
	out := make(map[name]T, len(objects))
	for _, o := range objects {
		out[nameOf(o)] = o
	}
	return out
}

// sorted are the values of a map in the order of their names.
func sorted[T any](m map[name]T) []T {
	var out []T
	for _, n := range slices.SortedFunc(maps.Keys(m), compareNames) {
		out = append(out, m[n])
	}
	return out
}

func pick[T any](to, from map[name]T, n name) {
	if object, ok := from[n]; ok {
		to[n] = object
	}
}

// sourceOf is where diagnostics about an Ingress point.
func sourceOf(ing *networkingv1.Ingress) diag.Source {
	return diag.Source{Kind: "Ingress", Namespace: ing.Namespace, Name: ing.Name}
}

// failed reports whether there is an error among diagnostics.
func failed(found []diag.Diagnostic) bool {
	return slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
}

func annotationSource(ing *networkingv1.Ingress, name string) diag.Source {
	return sourceOf(ing).At("metadata.annotations[" + name + "]")
}

func about(ing *networkingv1.Ingress, name string, severity diag.Severity, reason diag.Reason, message string) diag.Diagnostic {
	return diag.Diagnostic{Severity: severity, Reason: reason, Source: annotationSource(ing, name), Message: message}
}

const tlsField = "spec.tls"

const defaultBackendField = "spec.defaultBackend"
