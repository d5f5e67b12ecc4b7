package record

import (
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/settings"
)

func TestFeaturesAreThoseOfTheTableAndOfTheAPI(t *testing.T) {
	exact := networkingv1.PathTypeExact
	unknown := networkingv1.PathType("anything a tenant writes")
	a := Accepted{
		Annotations: map[string]string{settings.Group: "shop", settings.Prefix + "anything-a-tenant-writes": "", "nginx.ingress.kubernetes.io/whitelist-source-range": ""},
		Spec: networkingv1.IngressSpec{
			TLS: []networkingv1.IngressTLS{{}},
			Rules: []networkingv1.IngressRule{{Host: "*.example.com", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{PathType: &exact}, {PathType: &unknown}},
			}}}},
		},
	}
	got := a.Features()
	slices.Sort(got)
	if want := []string{settings.Group, "pathType Exact", "spec.tls", "wildcard host"}; !slices.Equal(got, want) {
		t.Errorf("it uses %q, want %q", got, want)
	}
}
