package ingress

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/validate"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file makes actions of resource backends. One that cannot be resolved answers 503: its
// requests must not go to another route.

// resource returns the action of a resource backend.
func (v *memberBackends) resource(ref *corev1.TypedLocalObjectReference,
	field string) routing.Action {
	group := ""
	if ref.APIGroup != nil {
		group = *ref.APIGroup
	}
	if group != v1alpha1.Group || ref.Kind != v1alpha1.KindBackend {
		kind := strings.TrimPrefix(group+"/"+ref.Kind, "/")
		v.addDiagnostic(diag.Error, diag.ResourceUnknown, field,
			fmt.Sprintf("%s is not a kind of backend; requests are answered 503", diag.Cut(kind)))
		return routing.Status(503)
	}
	n := Name{Namespace: v.Namespace, Name: ref.Name}
	spec, known := v.specOf(ref.Name)
	switch {
	case !known:
		v.addDiagnostic(diag.Error, diag.ResourceMissing, field,
			fmt.Sprintf("there is no Backend %s/%s; requests are answered 503", v.Namespace,
				diag.Cut(ref.Name)))
		return routing.Status(503)
	case spec == nil:
		v.addDiagnostic(diag.Error, diag.Invalid, field,
			fmt.Sprintf("Backend %s is invalid; requests are answered 503", n))
		return routing.Status(503)
	}
	done, known := v.resources[n]
	if !known {
		done = v.actionOfSpec(spec, field)
		v.resources[n] = done
	}
	return v.signInBefore(done, spec.Authenticate, field)
}

// specOf returns the spec of a Backend with its defaults: of the Ingress's own, or of an object. The
// spec is nil if it cannot be used, and known is false if there is none.
func (v *memberBackends) specOf(name string) (spec *v1alpha1.BackendSpec, known bool) {
	own, is := v.Settings.Backends[name]
	if !is {
		object := v.Backends[Name{Namespace: v.Namespace, Name: name}]
		if object == nil {
			return nil, false
		}
		return v.pool.valid(object), true
	}
	if spec, known = v.own[name]; known {
		return spec, true
	}
	spec, errs := withDefaults(own)
	if len(errs) > 0 {
		spec = nil
	}
	for _, err := range errs {
		v.Found = append(v.Found, aboutAnnotation(v.Ingress, settings.Backends, diag.Error, diag.Invalid,
			name+": "+err.Error()))
	}
	v.own[name] = spec
	return spec, true
}

// valid returns the spec of a Backend with its defaults, and nil if it cannot be used. Each Backend
// is checked once.
func (p *backendPool) valid(b *v1alpha1.Backend) *v1alpha1.BackendSpec {
	spec, known := p.checked[nameOf(b)]
	if !known {
		var errs field.ErrorList
		spec, errs = withDefaults(&b.Spec)
		p.Found = append(p.Found, validate.Refusals(
			diag.Source{Kind: v1alpha1.KindBackend, Namespace: b.Namespace, Name: b.Name}, errs)...)
		if len(errs) > 0 {
			spec = nil
		}
		p.checked[nameOf(b)] = spec
	}
	return spec
}

// actionOfSpec returns the action of the spec of a valid Backend.
func (v *memberBackends) actionOfSpec(spec *v1alpha1.BackendSpec, field string) routing.Action {
	switch {
	case spec.Redirect != nil:
		r := spec.Redirect
		return routing.Action{Redirect: &routing.Redirect{Status: r.StatusCode, Scheme: r.Scheme,
			Host: r.Host, Port: redirectPort(r), Path: r.Path, Query: r.Query}, Rewrite: settings.RewriteOf(spec.Rewrite)}
	case spec.FixedResponse != nil:
		f := spec.FixedResponse
		contentType := f.ContentType
		if contentType == "" && f.Body != "" {
			contentType = "text/plain"
		}
		return routing.Action{Fixed: &routing.Fixed{Status: f.StatusCode, ContentType: contentType,
			Body: f.Body}}
	}
	if !v.mayForward(spec.Services, field) {
		return routing.Status(503)
	}
	out := routing.Action{Forward: v.weightedBackends(spec.Services,
		providerSettingsText(spec.Provider),
		field), Rewrite: settings.RewriteOf(spec.Rewrite)}
	if spec.Stickiness != nil {
		out.StickySeconds = spec.Stickiness.DurationSeconds
	}
	return out
}

// weightedBackends returns the backends of weighted Services, sorted. Entries for the same backend
// are combined.
func (v *memberBackends) weightedBackends(services []v1alpha1.WeightedService, provider,
	field string) []routing.Weighted {
	var out []routing.Weighted
	for _, s := range services {
		share := routing.Weighted{Weight: *s.Weight}
		if s.TargetGroupARN != "" {
			share.Backend = v.pool.otherGroup(s.TargetGroupARN)
		} else {
			share.Backend = v.forward(s.Name, s.Port, provider, field)
		}
		at, found := slices.BinarySearchFunc(out, share.Backend,
			func(w routing.Weighted, id routing.BackendID) int {
				return strings.Compare(string(w.Backend), string(id))
			})
		if found {
			out[at].Weight += share.Weight
		} else {
			out = slices.Insert(out, at, share)
		}
	}
	return out
}

// redirectPort returns the port of a redirect. A scheme without a port means the scheme's default
// port, as in any URL, and not the port of the request.
func redirectPort(r *v1alpha1.Redirect) string {
	if r.Port == "" {
		return map[string]string{"http": "80", "https": "443"}[r.Scheme]
	}
	return r.Port
}
