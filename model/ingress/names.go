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

// A Name is a namespace and a name in it; a cluster-wide object has no namespace.
type Name struct{ Namespace, Name string }

func nameOf(o metav1.Object) Name { return Name{o.GetNamespace(), o.GetName()} }

func (n Name) String() string { return n.Namespace + "/" + n.Name }

func compareNames(a, b Name) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func byName[T metav1.Object](objects []T) map[Name]T {
	out := make(map[Name]T, len(objects))
	for _, o := range objects {
		out[nameOf(o)] = o
	}
	return out
}

// byNamespace returns objects by their namespace.
func byNamespace[T metav1.Object](objects []T) map[string][]T {
	out := map[string][]T{}
	for _, o := range objects {
		out[o.GetNamespace()] = append(out[o.GetNamespace()], o)
	}
	return out
}

// sorted returns the values of a map in the order of their names.
func sorted[T any](m map[Name]T) []T {
	var out []T
	for _, n := range slices.SortedFunc(maps.Keys(m), compareNames) {
		out = append(out, m[n])
	}
	return out
}

func pick[T any](to, from map[Name]T, n Name) {
	if object, ok := from[n]; ok {
		to[n] = object
	}
}

// sourceOfIngress returns the source of diagnostics about an Ingress.
func sourceOfIngress(ing *networkingv1.Ingress) diag.Source {
	return diag.Source{Kind: "Ingress", Namespace: ing.Namespace, Name: ing.Name}
}

// hasError reports whether there is an error among diagnostics.
func hasError(found []diag.Diagnostic) bool {
	return slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
}

func annotationSource(ing *networkingv1.Ingress, name string) diag.Source {
	return sourceOfIngress(ing).At("metadata.annotations[" + name + "]")
}

func aboutAnnotation(ing *networkingv1.Ingress, name string, severity diag.Severity,
	reason diag.Reason, message string) diag.Diagnostic {
	return diag.Diagnostic{Severity: severity, Reason: reason, Source: annotationSource(ing, name),
		Message: message}
}

const tlsField = "spec.tls"

const defaultBackendField = "spec.defaultBackend"
