package ingress

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file finds the backends that an Ingress names, with their places in it.

// backendsOf yields the backends that an Ingress names.
func backendsOf(spec *networkingv1.IngressSpec) func(
	yield func(*networkingv1.IngressBackend) bool) {
	return func(yield func(*networkingv1.IngressBackend) bool) {
		for _, b := range namedBackends(spec) {
			if !yield(b) {
				return
			}
		}
	}
}

// A backendField is the place of a backend in an Ingress: a path of a rule, or the default backend.
type backendField struct {
	rule, path int // negative for the default
}

func (p backendField) Field() string {
	if p.rule < 0 {
		return "spec.defaultBackend"
	}
	return fmt.Sprintf("spec.rules[%d].http.paths[%d].backend", p.rule, p.path)
}

// namedBackends yields the backends that an Ingress names, each with its place.
func namedBackends(spec *networkingv1.IngressSpec) func(
	yield func(backendField, *networkingv1.IngressBackend) bool) {
	return func(yield func(backendField, *networkingv1.IngressBackend) bool) {
		if spec.DefaultBackend != nil && !yield(backendField{-1, -1}, spec.DefaultBackend) {
			return
		}
		for i, r := range spec.Rules {
			if r.HTTP == nil {
				continue
			}
			for j := range r.HTTP.Paths {
				if !yield(backendField{i, j}, &r.HTTP.Paths[j].Backend) {
					return
				}
			}
		}
	}
}

// SecretOf returns the name of the Secret that a Backend needs, or "".
func SecretOf(b *v1alpha1.BackendSpec) string {
	if a := b.Authenticate; a != nil && a.OIDC != nil {
		return a.OIDC.SecretName
	}
	return ""
}
