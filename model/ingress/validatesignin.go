package ingress

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file validates spec.authenticate of Backend objects.

// validateAuthenticate returns the errors in spec.authenticate that the schema cannot express.
func validateAuthenticate(a *v1alpha1.Authenticate, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	kinds := 0
	for _, is := range []bool{a.OIDC != nil, a.Cognito != nil, a.JWT != nil} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		errs = append(errs, field.Invalid(at, "",
			"exactly one of `oidc`, `cognito` and `jwt` must be specified"))
	}
	if a.JWT == nil {
		return errs
	}
	for i, c := range a.JWT.Claims {
		if slices.Contains([]string{"exp", "iss", "nbf", "iat"}, c.Name) {
			errs = append(errs, field.Invalid(at.Child("jwt", "claims").Index(i).Child("name"), c.Name,
				"must be a claim that is not validated anyway"))
		}
	}
	return errs
}
