package ingress

import (
	"encoding/json"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file validates Backend objects.

// longestBackend is the most bytes of the spec of a Backend as JSON.
const longestBackend = 16 << 10

// withDefaults returns the spec of a Backend with its defaults, and the errors in it.
func withDefaults(spec *v1alpha1.BackendSpec) (*v1alpha1.BackendSpec, field.ErrorList) {
	at := field.NewPath("spec")
	if text, err := json.Marshal(spec); err != nil || len(text) > longestBackend {
		return spec, field.ErrorList{field.TooLong(at, "", longestBackend)}
	}
	spec = spec.DeepCopy()
	settings.BackendFields.Complete(spec)
	return spec, validateBackend(spec, at)
}

// validateBackend returns the errors in the spec of a Backend.
func validateBackend(spec *v1alpha1.BackendSpec, at *field.Path) field.ErrorList {
	errs := settings.BackendFields.Validate(spec, at)
	kinds := 0
	if spec.Redirect != nil {
		kinds++
		errs = append(errs, validateRedirect(spec.Redirect, at.Child("redirect"))...)
	}
	if spec.FixedResponse != nil {
		kinds++
	}
	if len(spec.Services) > 0 {
		kinds++
		errs = append(errs, validateServices(spec.Services, at.Child("services"))...)
	}
	if kinds != 1 {
		errs = append(errs, field.Invalid(at, "",
			"exactly one of `redirect`, `fixedResponse` and `services` must be specified"))
	}
	if len(spec.Services) == 0 && spec.Stickiness != nil {
		errs = append(errs, field.Invalid(at, "", "`stickiness` needs `services`"))
	}
	if r := spec.Redirect; spec.Rewrite != nil && r == nil && len(spec.Services) == 0 {
		errs = append(errs, field.Invalid(at, "", "`rewrite` needs `services` or a `redirect`"))
	} else if spec.Rewrite != nil && r != nil && (spec.Rewrite.Host != nil || r.Scheme+r.Host+r.Port == "") {
		errs = append(errs, field.Invalid(at, "", "with a `redirect`, `rewrite` changes the URL alone, and the redirect has a "+
			"scheme, a host or a port"))
	}
	if len(spec.Services) == 0 && spec.Provider != nil {
		errs = append(errs, field.Invalid(at, "", "`provider` needs `services`"))
	}
	errs = append(errs, validateProviderSettings(spec.Provider, at.Child("provider"))...)
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
		if err := routing.CheckReplacement(r.Pattern, r.Replacement); err != nil {
			errs = append(errs, field.Invalid(at, r.Pattern, err.Error()))
		}
	}
	if r.URL != nil {
		check(r.URL, at.Child("url"))
		if first := strings.TrimLeft(r.URL.Replacement, "/"); first == r.URL.Replacement &&
			!strings.HasPrefix(first, "$") {
			errs = append(errs, field.Invalid(at.Child("url", "replacement"), r.URL.Replacement,
				"must begin with a slash or with a group"))
		}
	}
	if r.Host != nil {
		check(r.Host, at.Child("host"))
	}
	return errs
}

func validateRedirect(r *v1alpha1.Redirect, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if n, _ := strconv.Atoi(r.Port); r.Port != "" && r.Port != "#{port}" {
		for _, wrong := range validation.IsValidPortNum(n) {
			errs = append(errs, field.Invalid(at.Child("port"), r.Port, wrong))
		}
	}
	if *r == (v1alpha1.Redirect{StatusCode: r.StatusCode}) {
		errs = append(errs, field.Invalid(at, "",
			"must change a part of the URL, or it redirects to itself"))
	}
	return errs
}

func validateServices(services []v1alpha1.WeightedService, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	total := int32(0)
	for i, s := range services {
		total += *s.Weight
		switch {
		case s.TargetGroupARN == "" && s.Name == "":
			errs = append(errs, field.Required(at.Index(i).Child("name"), "or name a `targetGroupARN`"))
		case s.TargetGroupARN != "" && (s.Name != "" || s.Port != (v1alpha1.ServicePort{})):
			errs = append(errs, field.Invalid(at.Index(i), "",
				"either `name` and `port`, or `targetGroupARN` must be specified"))
		}
		if s.TargetGroupARN != "" {
			continue
		}
		if (s.Port.Name == "") == (s.Port.Number == 0) {
			errs = append(errs, field.Invalid(at.Index(i).Child("port"), "",
				"exactly one of `name` and `number` must be specified"))
		}
	}
	if total == 0 {
		errs = append(errs, field.Invalid(at, "", "at least one weight must be above 0"))
	}
	return errs
}
