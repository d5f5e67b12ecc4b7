package ingress

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/validate"
	"fairlead.dev/fairlead/model/routing"
)

// This file makes actions of resource backends. One that cannot be resolved answers 503 itself:
// its requests must not fall to a route that was not meant for them.

// resource is the action of a resource backend.
func (v *memberBackends) resource(ref *corev1.TypedLocalObjectReference, field string) routing.Action {
	group := ""
	if ref.APIGroup != nil {
		group = *ref.APIGroup
	}
	if group != v1alpha1.Group || ref.Kind != v1alpha1.KindBackend {
		kind := strings.TrimPrefix(group+"/"+ref.Kind, "/")
		v.tell(diag.Error, diag.ResourceUnknown, field, fmt.Sprintf("%s is not a kind of backend; requests are answered 503", diag.Cut(kind)))
		return routing.Status(503)
	}
	n := name{v.Namespace, ref.Name}
	object := v.backends[n]
	if object == nil {
		v.tell(diag.Error, diag.ResourceMissing, field, fmt.Sprintf("there is no Backend %s/%s; requests are answered 503", v.Namespace, diag.Cut(ref.Name)))
		return routing.Status(503)
	}
	if !v.pool.valid(object) {
		v.tell(diag.Error, diag.Invalid, field, fmt.Sprintf("Backend %s/%s is invalid; requests are answered 503", object.Namespace, object.Name))
		return routing.Status(503)
	}
	done, known := v.resources[n]
	if !known {
		done = v.doing(&object.Spec, field)
		v.resources[n] = done
	}
	return v.guard(done, object.Spec.Authenticate, field)
}

// valid reports whether a Backend can be used. Each is checked once, however many paths refer to
// it.
func (p *pool) valid(b *v1alpha1.Backend) bool {
	valid, known := p.checked[nameOf(b)]
	if !known {
		errs := validateBackend(&b.Spec)
		p.found = append(p.found, validate.Refusals(diag.Source{Kind: v1alpha1.KindBackend, Namespace: b.Namespace, Name: b.Name}, errs)...)
		valid = len(errs) == 0
		p.checked[nameOf(b)] = valid
	}
	return valid
}

// doing is what a valid Backend does.
func (v *memberBackends) doing(spec *v1alpha1.BackendSpec, field string) routing.Action {
	switch {
	case spec.Redirect != nil:
		r := spec.Redirect
		status := r.StatusCode
		if status == 0 {
			status = 302
		}
		return routing.Action{Redirect: &routing.Redirect{Status: status, Scheme: r.Scheme, Host: r.Host, Port: redirectPort(r), Path: r.Path, Query: r.Query}}
	case spec.FixedResponse != nil:
		f := spec.FixedResponse
		contentType := f.ContentType
		if contentType == "" && f.Body != "" {
			contentType = "text/plain"
		}
		return routing.Action{Fixed: &routing.Fixed{Status: f.StatusCode, ContentType: contentType, Body: f.Body}}
	}
	out := routing.Action{Forward: v.shares(spec.Services, providerSettings(spec.Provider), field), Rewrite: rewriteOf(spec.Rewrite)}
	if spec.Stickiness != nil {
		out.StickySeconds = spec.Stickiness.DurationSeconds
	}
	return out
}

func rewriteOf(r *v1alpha1.Rewrite) *routing.Rewrite {
	if r == nil {
		return nil
	}
	out := &routing.Rewrite{}
	if r.URL != nil {
		out.URL, out.URLReplacement = r.URL.Pattern, r.URL.Replacement
	}
	if r.Host != nil {
		out.Host, out.HostReplacement = r.Host.Pattern, r.Host.Replacement
	}
	return out
}

// shares are the backends of weighted Services, sorted; two entries for one backend are one.
func (v *memberBackends) shares(services []v1alpha1.WeightedService, provider, field string) []routing.Weighted {
	var out []routing.Weighted
	for _, s := range services {
		ref := v.reference(s.Name, s.Port, provider)
		share := routing.Weighted{Backend: v.forward(ref, field), Weight: weightOf(s)}
		at, found := slices.BinarySearchFunc(out, share.Backend, func(w routing.Weighted, id routing.BackendID) int {
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

func weightOf(s v1alpha1.WeightedService) int32 {
	if s.Weight == nil {
		return 1
	}
	return *s.Weight
}

// longestBackend is how many bytes of JSON the spec of a Backend has.
const longestBackend = 16 << 10

// validateBackend is what is wrong with a Backend.
func validateBackend(spec *v1alpha1.BackendSpec) field.ErrorList {
	at := field.NewPath("spec")
	if text, err := json.Marshal(spec); err != nil || len(text) > longestBackend {
		return field.ErrorList{field.TooLong(at, "", longestBackend)}
	}
	var errs field.ErrorList
	kinds := 0
	if spec.Redirect != nil {
		kinds++
		errs = append(errs, validateRedirect(spec.Redirect, at.Child("redirect"))...)
	}
	if f := spec.FixedResponse; f != nil {
		kinds++
		if f.StatusCode < 200 || f.StatusCode > 599 {
			errs = append(errs, field.Invalid(at.Child("fixedResponse", "statusCode"), f.StatusCode, validation.InclusiveRangeError(200, 599)))
		}
	}
	if len(spec.Services) > 0 {
		kinds++
		errs = append(errs, validateServices(spec.Services, at.Child("services"))...)
	}
	if kinds != 1 {
		errs = append(errs, field.Invalid(at, "", "exactly one of `redirect`, `fixedResponse` and `services` must be specified"))
	}
	if len(spec.Services) == 0 && (spec.Stickiness != nil || spec.Rewrite != nil) {
		errs = append(errs, field.Invalid(at, "", "`stickiness` and `rewrite` need `services`"))
	}
	if len(spec.Services) == 0 && spec.Provider != nil {
		errs = append(errs, field.Invalid(at, "", "`provider` needs `services`"))
	}
	errs = append(errs, validateProviderSettings(spec.Provider, at.Child("provider"))...)
	if s := spec.Stickiness; s != nil && (s.DurationSeconds < 1 || s.DurationSeconds > 604800) {
		errs = append(errs, field.Invalid(at.Child("stickiness", "durationSeconds"), s.DurationSeconds, validation.InclusiveRangeError(1, 604800)))
	}
	if spec.Authenticate != nil {
		errs = append(errs, validateAuthenticate(spec.Authenticate, at.Child("authenticate"))...)
	}
	if spec.Rewrite != nil {
		errs = append(errs, validateRewrite(spec.Rewrite, at.Child("rewrite"))...)
	}
	return errs
}

func validateRewrite(r *v1alpha1.Rewrite, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.URL == nil && r.Host == nil {
		errs = append(errs, field.Invalid(at, "", "must change the URL or the host"))
	}
	check := func(r *v1alpha1.Replacement, at *field.Path) {
		if r.Replacement == "" || len(r.Pattern) > 1024 || len(r.Replacement) > 1024 {
			errs = append(errs, field.Invalid(at, r.Pattern, "pattern and replacement must have 1 to 1024 characters"))
		} else if err := routing.CheckReplacement(r.Pattern, r.Replacement); err != nil {
			errs = append(errs, field.Invalid(at, r.Pattern, err.Error()))
		}
	}
	if r.URL != nil {
		check(r.URL, at.Child("url"))
		if first := strings.TrimLeft(r.URL.Replacement, "/"); first == r.URL.Replacement && !strings.HasPrefix(first, "$") {
			errs = append(errs, field.Invalid(at.Child("url", "replacement"), r.URL.Replacement, "must begin with a slash or with a group"))
		}
	}
	if r.Host != nil {
		check(r.Host, at.Child("host"))
	}
	return errs
}

// redirectPort is the port that a redirect goes to. A scheme without a port means the scheme's
// usual one, as in any URL, and not the one that the request came to.
func redirectPort(r *v1alpha1.Redirect) string {
	if r.Port == "" {
		return map[string]string{"http": "80", "https": "443"}[r.Scheme]
	}
	return r.Port
}

func validateRedirect(r *v1alpha1.Redirect, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.Scheme != "" && r.Scheme != "http" && r.Scheme != "https" {
		errs = append(errs, field.NotSupported(at.Child("scheme"), r.Scheme, []string{"http", "https"}))
	}
	if n, err := strconv.Atoi(r.Port); r.Port != "" && r.Port != "#{port}" && (err != nil || len(validation.IsValidPortNum(n)) > 0) {
		errs = append(errs, field.Invalid(at.Child("port"), r.Port, validation.InclusiveRangeError(1, 65535)))
	}
	if r.Path != "" && !strings.HasPrefix(r.Path, "/") {
		errs = append(errs, field.Invalid(at.Child("path"), r.Path, "must be an absolute path"))
	}
	if r.StatusCode != 0 && r.StatusCode != 301 && r.StatusCode != 302 {
		errs = append(errs, field.NotSupported(at.Child("statusCode"), r.StatusCode, []string{"301", "302"}))
	}
	if *r == (v1alpha1.Redirect{StatusCode: r.StatusCode}) {
		errs = append(errs, field.Invalid(at, "", "must change a part of the URL, or it redirects to itself"))
	}
	return errs
}

func validateServices(services []v1alpha1.WeightedService, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	total := int32(0)
	for i, s := range services {
		if s.Name == "" {
			errs = append(errs, field.Required(at.Index(i).Child("name"), ""))
		}
		if (s.Port.Name == "") == (s.Port.Number == 0) {
			errs = append(errs, field.Invalid(at.Index(i).Child("port"), "", "exactly one of `name` and `number` must be specified"))
		}
		if n := s.Port.Number; n != 0 {
			errs = append(errs, validate.Invalid(at.Index(i).Child("port", "number"), n, validation.IsValidPortNum(int(n)))...)
		}
		if w := weightOf(s); w < 0 || w > 999 {
			errs = append(errs, field.Invalid(at.Index(i).Child("weight"), w, validation.InclusiveRangeError(0, 999)))
		}
		total += weightOf(s)
	}
	if total == 0 {
		errs = append(errs, field.Invalid(at, "", "at least one weight must be above 0"))
	}
	return errs
}
