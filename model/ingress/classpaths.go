package ingress

import (
	"regexp"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file reads the path of a rule by its pathType. The Ingress or its class decides about
// ImplementationSpecific.

// pathOf returns a path as its type defines it, or an error.
func pathOf(p *networkingv1.HTTPIngressPath, s *settings.Values) (routing.Path, error) {
	path := readPath(p, s)
	if path.Type == routing.Regex {
		_, err := regexp.Compile(p.Path)
		return path, err
	}
	return path, nil
}

// ranksBySpelling reports whether a path ranks by its spelling.
func ranksBySpelling(p *networkingv1.HTTPIngressPath, s *settings.Values) bool {
	return *p.PathType == networkingv1.PathTypeImplementationSpecific && p.Path != "" &&
		s.ImplementationSpecific == v1alpha1.ReadRegexPrefix
}

// readPath returns a path as its type defines it, under the settings of its Ingress.
func readPath(p *networkingv1.HTTPIngressPath, s *settings.Values) routing.Path {
	switch *p.PathType {
	case networkingv1.PathTypeExact:
		return routing.NewPath(routing.Exact, p.Path)
	case networkingv1.PathTypePrefix:
		return routing.NewPath(routing.Prefix, p.Path)
	}
	switch {
	case p.Path == "":
		return routing.Root
	case s.ImplementationSpecific == v1alpha1.ReadRegex:
		return routing.NewPath(routing.Regex, p.Path)
	case s.ImplementationSpecific == v1alpha1.ReadRegexPrefix:
		return routing.NewPath(routing.Regex, routing.FromStart(p.Path))
	case s.ImplementationSpecific == v1alpha1.ReadGlob || strings.ContainsAny(p.Path, "*?"):
		return routing.NewPath(routing.Glob, p.Path)
	}
	return routing.NewPath(routing.Prefix, p.Path)
}
