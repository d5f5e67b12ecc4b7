package settings

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/api/v1alpha1"
)

func TestFieldsAreWithinTheirBounds(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n) }
	for spec, want := range map[string][]string{
		`{services: [{name: a, port: {number: 80}, weight: 0}]}`: nil,
		`{services: []}`: {"spec.services"},
		`{services: [{name: a, port: {number: 65536}}, {name: "", port: {}, weight: 1000}]}`:                            {"spec.services[0].port.number", "spec.services[1].weight"},
		`{services: [{targetGroupARN: "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/a/0123"}]}`: {"spec.services[0].targetGroupARN"},
		`{services: [{name: ` + long(63) + `, port: {name: ` + long(64) + `}}]}`:                                        {"spec.services[0].port.name"},
		`{redirect: {scheme: ftp, path: new, statusCode: 307, host: ` + long(254) + `}}`:                                {"spec.redirect.scheme", "spec.redirect.host", "spec.redirect.path", "spec.redirect.statusCode"},
		`{redirect: {scheme: https, path: /é` + long(1022) + `, statusCode: 302}}`:                                      nil,
		`{fixedResponse: {}}`: {"spec.fixedResponse.statusCode"},
		`{fixedResponse: {statusCode: 200, body: ` + long(8193) + `}}`:                                   {"spec.fixedResponse.body"},
		`{stickiness: {durationSeconds: 604801}}`:                                                        {"spec.stickiness.durationSeconds"},
		`{rewrite: {url: {pattern: a, replacement: ""}}}`:                                                {"spec.rewrite.url.pattern", "spec.rewrite.url.replacement"},
		`{authenticate: {oidc: {issuer: "http://a", timeoutSeconds: 604801, parameters: {a: b}}}}`:       {"spec.authenticate.oidc.issuer", "spec.authenticate.oidc.authorizationEndpoint", "spec.authenticate.oidc.tokenEndpoint", "spec.authenticate.oidc.userInfoEndpoint", "spec.authenticate.oidc.secretName", "spec.authenticate.oidc.timeoutSeconds"},
		`{authenticate: {jwt: {issuer: a, keysEndpoint: "https://a", claims: [{name: a, values: []}]}}}`: {"spec.authenticate.jwt.claims[0].values"},
	} {
		var backend v1alpha1.BackendSpec
		read(t, spec, &backend)
		if diff := cmp.Diff(want, places(BackendFields.Validate(&backend, field.NewPath("spec")))); diff != "" {
			t.Errorf("%.100s is refused at (-want +got):\n%s", spec, diff)
		}
	}
	for spec, want := range map[string][]string{
		`{ports: [{port: 443, mutualAuthentication: {mode: verify, trustStore: a}}], groups: [{name: a-1}]}`: nil,
		`{ports: [{port: 0, mutualAuthentication: {mode: "on"}}]}`:                                           {"spec.ports[0].port", "spec.ports[0].mutualAuthentication.mode"},
		`{groups: [{name: A, owner: a-}, {name: ` + long(64) + `}]}`:                                         {"spec.groups[0].name", "spec.groups[0].owner", "spec.groups[1].name"},
		`{subnetTags: {` + strings.Join(numbered(21), ", ") + `}}`:                                           {"spec.subnetTags"},
		`{annotations: [` + strings.ReplaceAll(strings.Join(numbered(101), ", "), ": a", "") + `]}`:          {"spec.annotations"},
		`{annotations: []}`: nil,
		`{targetPorts: []}`: {"spec.targetPorts"},
	} {
		var class v1alpha1.LoadBalancerClassSpec
		read(t, spec, &class)
		if diff := cmp.Diff(want, places(ClassFields.Validate(&class, field.NewPath("spec")))); diff != "" {
			t.Errorf("%.100s is refused at (-want +got):\n%s", spec, diff)
		}
	}
}

// numbered returns entries of a map.
func numbered(n int) []string {
	var out []string
	for i := range n {
		out = append(out, "n"+strconv.Itoa(i)+": a")
	}
	return out
}

func read(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

func places(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Field)
	}
	return out
}
