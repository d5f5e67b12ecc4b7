package backends

import (
	"encoding/json"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/classes"
	"fairlead.dev/fairlead/model/ingress/validate"
	"fairlead.dev/fairlead/model/routing"
)

// This file validates Backend objects.

// longestBackend is the most bytes that the spec of a Backend has as JSON.
const longestBackend = 16 << 10

// validateBackend returns the errors in a Backend.
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
			errs = append(errs, field.Invalid(at.Child("fixedResponse", "statusCode"), f.StatusCode,
				validation.InclusiveRangeError(200, 599)))
		}
	}
	if len(spec.Services) > 0 {
		kinds++
		errs = append(errs, validateServices(spec.Services, at.Child("services"))...)
	}
	if kinds != 1 {
		errs = append(errs, field.Invalid(at, "",
			"exactly one of `redirect`, `fixedResponse` and `services` must be specified"))
	}
	if len(spec.Services) == 0 && (spec.Stickiness != nil || spec.Rewrite != nil) {
		errs = append(errs, field.Invalid(at, "", "`stickiness` and `rewrite` need `services`"))
	}
	if len(spec.Services) == 0 && spec.Provider != nil {
		errs = append(errs, field.Invalid(at, "", "`provider` needs `services`"))
	}
	errs = append(errs, classes.ValidateProviderSettings(spec.Provider, at.Child("provider"))...)
	if s := spec.Stickiness; s != nil && (s.DurationSeconds < 1 || s.DurationSeconds > 604800) {
		errs = append(errs, field.Invalid(at.Child("stickiness", "durationSeconds"), s.DurationSeconds,
			validation.InclusiveRangeError(1, 604800)))
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
			errs = append(errs, field.Invalid(at, r.Pattern,
				"pattern and replacement must have 1 to 1024 characters"))
		} else if err := routing.CheckReplacement(r.Pattern, r.Replacement); err != nil {
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
	if r.Scheme != "" && r.Scheme != "http" && r.Scheme != "https" {
		errs = append(errs, field.NotSupported(at.Child("scheme"), r.Scheme, []string{"http", "https"}))
	}
	if n, err := strconv.Atoi(r.Port); r.Port != "" && r.Port != "#{port}" &&
		(err != nil || len(validation.IsValidPortNum(n)) > 0) {
		errs = append(errs, field.Invalid(at.Child("port"), r.Port,
			validation.InclusiveRangeError(1, 65535)))
	}
	if r.Path != "" && !strings.HasPrefix(r.Path, "/") {
		errs = append(errs, field.Invalid(at.Child("path"), r.Path, "must be an absolute path"))
	}
	if r.StatusCode != 0 && r.StatusCode != 301 && r.StatusCode != 302 {
		errs = append(errs, field.NotSupported(at.Child("statusCode"), r.StatusCode,
			[]string{"301", "302"}))
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
		if s.Name == "" {
			errs = append(errs, field.Required(at.Index(i).Child("name"), ""))
		}
		if (s.Port.Name == "") == (s.Port.Number == 0) {
			errs = append(errs, field.Invalid(at.Index(i).Child("port"), "",
				"exactly one of `name` and `number` must be specified"))
		}
		if n := s.Port.Number; n != 0 {
			errs = append(errs, validate.Invalid(at.Index(i).Child("port", "number"), n,
				validation.IsValidPortNum(int(n)))...)
		}
		if w := weightOf(s); w < 0 || w > 999 {
			errs = append(errs, field.Invalid(at.Index(i).Child("weight"), w,
				validation.InclusiveRangeError(0, 999)))
		}
		total += weightOf(s)
	}
	if total == 0 {
		errs = append(errs, field.Invalid(at, "", "at least one weight must be above 0"))
	}
	return errs
}
