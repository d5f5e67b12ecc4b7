package ingress

import (
	"regexp"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads the path of a rule by its pathType. The class decides about
// ImplementationSpecific.

// PathOf returns a path as its type defines it, or an error.
func (c *Class) PathOf(p *networkingv1.HTTPIngressPath) (routing.Path, error) {
	path := c.ReadPath(p)
	if path.Type == routing.Regex {
		_, err := regexp.Compile(p.Path)
		return path, err
	}
	return path, nil
}

// ReadPath returns a path as its type defines it. The class decides about ImplementationSpecific.
func (c *Class) ReadPath(p *networkingv1.HTTPIngressPath) routing.Path {
	switch *p.PathType {
	case networkingv1.PathTypeExact:
		return routing.NewPath(routing.Exact, p.Path)
	case networkingv1.PathTypePrefix:
		return routing.NewPath(routing.Prefix, p.Path)
	}
	switch {
	case p.Path == "":
		return routing.Root
	case c.ImplementationSpecific == v1alpha1.ReadRegex:
		return routing.NewPath(routing.Regex, p.Path)
	case c.ImplementationSpecific == v1alpha1.ReadGlob || strings.ContainsAny(p.Path, "*?"):
		return routing.NewPath(routing.Glob, p.Path)
	}
	return routing.NewPath(routing.Prefix, p.Path)
}
