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

func NameOf(o metav1.Object) Name { return Name{o.GetNamespace(), o.GetName()} }

func (n Name) String() string { return n.Namespace + "/" + n.Name }

func CompareNames(a, b Name) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func ByName[T metav1.Object](objects []T) map[Name]T {
	out := make(map[Name]T, len(objects))
	for _, o := range objects {
		out[NameOf(o)] = o
	}
	return out
}

// sorted returns the values of a map in the order of their names.
func sorted[T any](m map[Name]T) []T {
	var out []T
	for _, n := range slices.SortedFunc(maps.Keys(m), CompareNames) {
		out = append(out, m[n])
	}
	return out
}

func pick[T any](to, from map[Name]T, n Name) {
	if object, ok := from[n]; ok {
		to[n] = object
	}
}

// SourceOf returns the source of diagnostics about an Ingress.
func SourceOf(ing *networkingv1.Ingress) diag.Source {
	return diag.Source{Kind: "Ingress", Namespace: ing.Namespace, Name: ing.Name}
}

// HasError reports whether there is an error among diagnostics.
func HasError(found []diag.Diagnostic) bool {
	return slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
}

func AnnotationSource(ing *networkingv1.Ingress, name string) diag.Source {
	return SourceOf(ing).At("metadata.annotations[" + name + "]")
}

func AboutAnnotation(ing *networkingv1.Ingress, name string, severity diag.Severity,
	reason diag.Reason, message string) diag.Diagnostic {
	return diag.Diagnostic{Severity: severity, Reason: reason, Source: AnnotationSource(ing, name),
		Message: message}
}

const TLSField = "spec.tls"

const DefaultBackendField = "spec.defaultBackend"
