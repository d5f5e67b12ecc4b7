package record

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/settings"
)

// This file lists the annotations and fields that an Ingress uses, so that their use can be
// counted.

// Features returns the features of an accepted version: annotations of the table by their names,
// and fields of the API. Their number is bounded by the table.
func (a Accepted) Features() []string {
	var out []string
	for name := range a.Annotations {
		if settings.Of(name) != nil {
			out = append(out, name)
		}
	}
	uses := map[string]bool{
		"spec.tls":            len(a.Spec.TLS) > 0,
		"spec.defaultBackend": a.Spec.DefaultBackend != nil,
	}
	note := func(b *networkingv1.IngressBackend) {
		uses["backend.resource"] = uses["backend.resource"] || b != nil && b.Resource != nil
	}
	note(a.Spec.DefaultBackend)
	for _, r := range a.Spec.Rules {
		uses["wildcard host"] = uses["wildcard host"] || strings.HasPrefix(r.Host, "*.")
		uses["rule without host"] = uses["rule without host"] || r.Host == ""
		if r.HTTP == nil {
			continue
		}
		for i := range r.HTTP.Paths {
			p := &r.HTTP.Paths[i]
			note(&p.Backend)
			if p.PathType == nil {
				continue
			}
			switch *p.PathType {
			case networkingv1.PathTypeExact, networkingv1.PathTypePrefix,
				networkingv1.PathTypeImplementationSpecific:
				uses["pathType "+string(*p.PathType)] = true
			}
		}
	}
	for feature, used := range uses {
		if used {
			out = append(out, feature)
		}
	}
	return out
}
