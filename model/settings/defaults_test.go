package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// A field that is empty gets the default of its row, and one that says something keeps it, 0 of a
// weight too.
func TestEmptyFieldsGetTheirDefaults(t *testing.T) {
	const session = `onUnauthenticatedRequest: authenticate, scope: openid,
		cookieName: AWSELBAuthSessionCookie, timeoutSeconds: 604800`
	for spec, want := range map[string]string{
		`{services: [{name: a}, {name: b, weight: 0}]}`: `{services: [{name: a, weight: 1}, {name: b, weight: 0}]}`,
		`{redirect: {}}`:                `{redirect: {statusCode: 302}}`,
		`{redirect: {statusCode: 301}}`: `{redirect: {statusCode: 301}}`,
		`{fixedResponse: {}}`:           `{fixedResponse: {}}`,
		`{authenticate: {oidc: {}}}`:    `{authenticate: {oidc: {` + session + `}}}`,
		`{authenticate: {cognito: {}}}`: `{authenticate: {cognito: {` + session + `}}}`,
		`{authenticate: {jwt: {claims: [{}, {format: string-array}]}}}`: `{authenticate: {jwt: {claims: [{format: single-string}, {format: string-array}]}}}`,
	} {
		var got, wanted v1alpha1.BackendSpec
		read(t, spec, &got)
		read(t, want, &wanted)
		if BackendFields.Complete(&got); cmp.Diff(wanted, got) != "" {
			t.Errorf("%s (-want +got):\n%s", spec, cmp.Diff(wanted, got))
		}
	}
}

// TestEveryDefaultIsWithinItsBound checks the defaults by the bounds of their rows.
func TestEveryDefaultIsWithinItsBound(t *testing.T) {
	spec := v1alpha1.BackendSpec{
		Redirect: &v1alpha1.Redirect{Scheme: "https"},
		Services: []v1alpha1.WeightedService{{Name: "a", Port: v1alpha1.ServicePort{Number: 80}}},
		Authenticate: &v1alpha1.Authenticate{
			OIDC: &v1alpha1.OIDC{}, Cognito: &v1alpha1.Cognito{},
			JWT: &v1alpha1.JWT{Claims: []v1alpha1.Claim{{Name: "a", Values: []string{"a"}}}},
		},
	}
	before := places(BackendFields.Validate(&spec, nil))
	BackendFields.Complete(&spec)
	if diff := cmp.Diff(before, places(BackendFields.Validate(&spec, nil))); diff != "" {
		t.Errorf("errors in defaults (-before +with them):\n%s", diff)
	}
}
