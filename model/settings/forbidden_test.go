package ingress

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
)

// restricting are the annotations that restrict who is answered, or how, each with a value that does so beside a class
// that exposes as much as it can. All others change what is served, and expose no more when they are ignored.
var restricting = map[string]string{
	schemeAnnotation:     v1alpha1.SchemeInternal,
	portsAnnotation:      "HTTPS:8443",
	conditionsAnnotation: `[{"method": ["GET"]}]`,
	policyAnnotation:     "ELBSecurityPolicy-TLS13-1-3-2021-06",
	inboundAnnotation:    "10.0.0.0/8",
	webACLAnnotation:     "shop-edge",
}

// An annotation that restricts and that the class forbids keeps the Ingress from being served. Any other is ignored.
func TestADeniedAnnotationThatRestrictsIsRefused(t *testing.T) {
	for _, a := range annotations {
		if a.name == classAnnotation {
			continue // which leads to no more than the field
		}
		value, restricts := restricting[a.name]
		if !restricts {
			value = a.example
		}
		if restricts != (a.exposes != nil) {
			t.Errorf("%s restricts: %v, and the table says otherwise", a.name, restricts)
		}
		none := []string{}
		classes := map[string]v1alpha1.LoadBalancerClassSpec{"lists no annotations": {Annotations: &none}}
		if a.name == schemeAnnotation { // internal is what holds without one
			classes = map[string]v1alpha1.LoadBalancerClassSpec{"sets the other one": {Scheme: v1alpha1.SchemeInternetFacing}}
		}
		for name, spec := range classes {
			t.Run(strings.TrimPrefix(a.name, prefix)+" where the class "+name, func(t *testing.T) {
				class := Class{LoadBalancerClassSpec: spec}
				_, found := class.read(anIngress("shop/web", annotated(strings.TrimPrefix(a.name, prefix), value)), "")
				want := diag.Warning
				if restricts {
					want = diag.Error
				}
				if len(found) != 1 || found[0].Severity != want || found[0].Reason != diag.AnnotationNotAllowed {
					t.Errorf("told %v, want one %s", told(found), want)
				}
			})
		}
	}
}

// Where the class sets a TLS policy, that holds. Where it is known to accept older versions of TLS than the one that an
// Ingress asks for, the Ingress is refused.
func TestAPolicyOfTheClassInPlaceOfAnother(t *testing.T) {
	for _, c := range []struct {
		class, asked string
		refused      bool
	}{
		{"ELBSecurityPolicy-TLS13-1-2-2021-06", "ELBSecurityPolicy-TLS13-1-2-2021-06", false},
		{"ELBSecurityPolicy-TLS13-1-2-2021-06", "ELBSecurityPolicy-2016-08", false},
		{"ELBSecurityPolicy-TLS13-1-2-2021-06", "ELBSecurityPolicy-TLS-1-1-2017-01", false},
		{"ELBSecurityPolicy-TLS13-1-3-2021-06", "ELBSecurityPolicy-FS-1-2-Res-2020-10", false},
		{"ELBSecurityPolicy-TLS13-1-2-2021-06", "ELBSecurityPolicy-TLS13-1-3-2021-06", true},
		{"ELBSecurityPolicy-TLS13-1-2-2021-06", "ELBSecurityPolicy-TLS13-1-2-Res-2021-06", false},
		{"ELBSecurityPolicy-2016-08", "ELBSecurityPolicy-TLS-1-2-2017-01", true},
		{"ELBSecurityPolicy-FS-2018-06", "ELBSecurityPolicy-TLS-1-1-2017-01", true},
		{"ELBSecurityPolicy-TLS13-1-3-2021-06", "of-another-cloud", false},
		{"of-another-cloud", "ELBSecurityPolicy-2016-08", false},
		{"", "of-another-cloud", true},
	} {
		class := Class{LoadBalancerClassSpec: v1alpha1.LoadBalancerClassSpec{TLSPolicy: c.class}}
		if c.class == "" {
			class.Annotations = &[]string{}
		}
		_, found := class.read(anIngress("shop/web", annotated("tls-policy", c.asked)), "")
		if got := failed(found); got != c.refused {
			t.Errorf("the class has %s, and %s is asked for: refused %v, told %v", c.class, c.asked, got, told(found))
		}
	}
}
