package backends

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file validates spec.authenticate of Backend objects.

// validateAuthenticate returns the errors in spec.authenticate.
func validateAuthenticate(a *v1alpha1.Authenticate, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	kinds := 0
	needs := func(at *field.Path, value, begins string, most int) {
		switch {
		case value == "":
			errs = append(errs, field.Required(at, ""))
		case !strings.HasPrefix(value, begins):
			errs = append(errs, field.Invalid(at, value, "must begin with "+begins))
		case most > 0 && len(value) > most:
			errs = append(errs, field.TooLong(at, "", most))
		}
	}
	if o := a.OIDC; o != nil {
		kinds++
		at := at.Child("oidc")
		needs(at.Child("issuer"), o.Issuer, "https://", 0)
		needs(at.Child("authorizationEndpoint"), o.AuthorizationEndpoint, "https://", 0)
		needs(at.Child("tokenEndpoint"), o.TokenEndpoint, "https://", 0)
		needs(at.Child("userInfoEndpoint"), o.UserInfoEndpoint, "https://", 0)
		needs(at.Child("secretName"), o.SecretName, "", 0)
		errs = append(errs, validateSession(o.Session, at)...)
	}
	if c := a.Cognito; c != nil {
		kinds++
		at := at.Child("cognito")
		needs(at.Child("userPoolARN"), c.UserPoolARN, "arn:", 0)
		needs(at.Child("userPoolClientID"), c.UserPoolClientID, "", 0)
		needs(at.Child("userPoolDomain"), c.UserPoolDomain, "", 0)
		errs = append(errs, validateSession(c.Session, at)...)
	}
	if j := a.JWT; j != nil {
		kinds++
		at := at.Child("jwt")
		needs(at.Child("issuer"), j.Issuer, "", 256)
		needs(at.Child("keysEndpoint"), j.KeysEndpoint, "https://", 256)
		if len(j.Claims) > 10 {
			errs = append(errs, field.TooMany(at.Child("claims"), len(j.Claims), 10))
		}
		for i, c := range j.Claims {
			errs = append(errs, validateClaim(c, at.Child("claims").Index(i))...)
		}
	}
	if kinds != 1 {
		errs = append(errs, field.Invalid(at, "",
			"exactly one of `oidc`, `cognito` and `jwt` must be specified"))
	}
	return errs
}

func validateSession(s v1alpha1.Session, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if known := []string{"", "authenticate", "deny", "allow"}; !slices.Contains(known,
		s.OnUnauthenticatedRequest) {
		errs = append(errs, field.NotSupported(at.Child("onUnauthenticatedRequest"),
			s.OnUnauthenticatedRequest, known[1:]))
	}
	if s.TimeoutSeconds < 0 || s.TimeoutSeconds > 604800 {
		errs = append(errs, field.Invalid(at.Child("timeoutSeconds"), s.TimeoutSeconds,
			validation.InclusiveRangeError(1, 604800)))
	}
	if len(s.Parameters) > 10 {
		errs = append(errs, field.TooMany(at.Child("parameters"), len(s.Parameters), 10))
	}
	return errs
}

func validateClaim(c v1alpha1.Claim, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.Name == "" || slices.Contains([]string{"exp", "iss", "nbf", "iat"}, c.Name) {
		errs = append(errs, field.Invalid(at.Child("name"), c.Name,
			"must be a claim that is not validated anyway"))
	}
	if known := []string{"", "single-string", "string-array",
		"space-separated-values"}; !slices.Contains(known, c.Format) {
		errs = append(errs, field.NotSupported(at.Child("format"), c.Format, known[1:]))
	}
	if len(c.Values) < 1 || len(c.Values) > 10 {
		errs = append(errs, field.Invalid(at.Child("values"), len(c.Values), "must be 1 to 10"))
	}
	return errs
}
