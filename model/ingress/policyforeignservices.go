package ingress

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/foreign"
)

// This file refuses changes that refer to a Service with an annotation of another controller that
// restricts which requests are answered.

// WithoutForeignRestrictions returns the snapshot without the changes that refer to a Service with
// an annotation that restricts clients and has no effect here. An Ingress that was served before
// the Service had it stays served, and is reported, too. It does not stay if the class permitted
// such annotations and no longer does.
func WithoutForeignRestrictions(s Snapshot) (Snapshot, []diag.Diagnostic) {
	restricted, found := foreignRestrictions(s)
	ends := s.servedForeignRestrictions() && !s.Class.servesForeignRestrictions()
	refused := slices.DeleteFunc(s.Changes(),
		func(m Member) bool { return !restricted[nameOf(m.Ingress)] })
	var withdrawn []Member
	for _, m := range s.Members {
		switch {
		case !restricted[nameOf(m.Ingress)] || m.Leaving:
		case ends && s.Recorded.Members[nameOf(m.Ingress).String()].Served:
			withdrawn = append(withdrawn, m)
			found = append(found, tellWithdrawn(m.Ingress, s.Key,
				"class "+s.Class.Name+" does not let such annotations of other controllers pass any more"))
		case !slices.ContainsFunc(refused, func(r Member) bool { return r.Ingress == m.Ingress }):
			found = append(found, diag.Diagnostic{
				Severity: diag.Warning, Reason: diag.LastGood, Source: m.Source(),
				Message: "it was served before, and goes on being served",
			})
		}
	}
	if len(withdrawn) > 0 {
		s.Withdrawn = true
		s = s.Without(withdrawn)
		refused = slices.DeleteFunc(refused,
			func(m Member) bool { return among(m, withdrawn) })
	}
	if len(refused) == 0 {
		return s, found
	}
	return s.Refuse(refused), found
}

// foreignRestrictions returns the members with an annotation that restricts, on a Service or beside
// Backends, with diagnostics.
func foreignRestrictions(s Snapshot) (map[Name]bool, []diag.Diagnostic) {
	services := byName(s.Services)
	backends := byName(s.Backends)
	var found []diag.Diagnostic
	annotated := s.ServiceAnnotations
	if annotated == nil {
		annotated = map[*corev1.Service]*foreign.Annotations{}
	}
	restricted := map[Name]bool{}
	for _, m := range s.Members {
		if m.Leaving {
			continue
		}
		more := append(insecure(s, m, backends), tellRefusedForOthers(s, m)...)
		restricted[nameOf(m.Ingress)] = hasError(more)
		found = append(found, more...)
		for _, r := range servicesOf(m, backends) {
			service := services[r.service]
			if service == nil || len(service.Annotations) == 0 {
				continue
			}
			source := m.Source().At(r.at)
			if annotated[service] == nil {
				annotated[service] = foreign.OfService(service.Annotations)
			}
			more := tellForeign(&s.Class,
				annotated[service].Settings(servedAs(&s.Class, m.Ingress, m.Settings)),
				"Service "+r.service.String()+": ", func([]foreign.Setting) diag.Source { return source })
			more = append(more, misplacedAnnotations(source, r.service, service.Annotations, m.Settings)...)
			restricted[nameOf(m.Ingress)] = restricted[nameOf(m.Ingress)] ||
				hasError(more)
			found = append(found, more...)
		}
	}
	return restricted, found
}

// insecure returns diagnostics about annotations that ask for HTTPS, on an Ingress that names
// Backends alone of which one forwards requests. Where it names a Service, they are reported as it
// is read.
func insecure(s Snapshot, m Member,
	backends map[Name]*v1alpha1.Backend) []diag.Diagnostic {
	as := servedAs(&s.Class, m.Ingress, m.Settings)
	if !as.ForwardsNothing || len(servicesOf(m, backends)) == 0 {
		return nil
	}
	as.ForwardsNothing = false
	asked := slices.DeleteFunc(foreign.OnIngress(m.Ingress.Annotations, as),
		func(f foreign.Setting) bool { return !f.Secures || f.Effect != foreign.Restricts })
	return tellForeign(&s.Class, asked, "",
		func([]foreign.Setting) diag.Source { return m.Source().At("metadata.annotations") })
}

// A serviceReference is a Service, and the field of an Ingress that names it.
type serviceReference struct {
	service Name
	at      string
}

// servicesOf returns the Services that an Ingress names, directly or in Backends, without
// duplicates.
func servicesOf(m Member, backends map[Name]*v1alpha1.Backend) []serviceReference {
	ing := m.Ingress
	var out []serviceReference
	seen := map[Name]bool{}
	add := func(service, at string) {
		if n := (Name{Namespace: ing.Namespace, Name: service}); !seen[n] {
			seen[n] = true
			out = append(out, serviceReference{n, at})
		}
	}
	own := m.Settings.Backends
	for place, b := range namedBackends(&ing.Spec) {
		if b.Service != nil {
			add(b.Service.Name, place.Field()+".service")
			continue
		}
		if b.Resource == nil {
			continue
		}
		spec := own[b.Resource.Name]
		if object := backends[Name{Namespace: ing.Namespace, Name: b.Resource.Name}]; spec == nil && object != nil {
			spec = &object.Spec
		}
		if spec != nil {
			for _, s := range spec.Services {
				if s.Name == "" { // a target group of others
					continue
				}
				add(s.Name, place.Field()+".resource")
			}
		}
	}
	return out
}
