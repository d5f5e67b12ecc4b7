package settings

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
)

// restricting are the annotations that restrict who is answered, or how, each with a value that
// does so beside a class that exposes as much as it can. All others change what is served, and
// expose no more when they are ignored.
var restricting = map[string]string{
	Scheme:            v1alpha1.SchemeInternal,
	ListenPorts:       "HTTPS:8443",
	RequestConditions: `[{"method": ["GET"]}]`,
	TLSPolicy:         "ELBSecurityPolicy-TLS13-1-3-2021-06",
	Inbound:           "10.0.0.0/8",
	WAFv2ACL:          "shop-edge",
	SSLRedirect:       "443",

	ImplementationSpecific: v1alpha1.ReadGlob,
	SecurityGroups:         "sg-edge",
	MutualAuthentication:   `[{"port": 443, "mode": "verify", "trustStore": "partners"}]`,
}

// An annotation that restricts and that the class forbids keeps the Ingress from being served. Any
// other is ignored.
func TestADeniedAnnotationThatRestrictsIsRefused(t *testing.T) {
	for _, a := range Table {
		if a.put == nil {
			continue
		}
		value, restricts := restricting[a.Annotation]
		if !restricts {
			value = a.Example
		}
		if restricts != (a.exposes != nil) {
			t.Errorf("%s restricts: %v, and the table says otherwise", a.Annotation, restricts)
		}
		none := []string{}
		classes := map[string]v1alpha1.LoadBalancerClassSpec{"lists no annotations": {Annotations: &none}}
		if a.Annotation == Scheme { // internal is what holds without one
			classes = map[string]v1alpha1.LoadBalancerClassSpec{"sets the other one": {Scheme: v1alpha1.SchemeInternetFacing}}
		}
		for name, spec := range classes {
			t.Run(strings.TrimPrefix(a.Annotation, Prefix)+" where the class "+name, func(t *testing.T) {
				_, found := Read(map[string]string{a.Annotation: value}, &spec, true)
				want := diag.Warning
				if restricts {
					want = diag.Error
				}
				if len(found) != 1 || found[0].Severity != want || found[0].Reason != diag.AnnotationNotAllowed {
					t.Errorf("found %v, want one %s", found, want)
				}
			})
		}
	}
}

// Where the class sets a TLS policy, that holds. Where it is known to accept older versions of TLS
// than the one that an Ingress asks for, the Ingress is refused.
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
		class := v1alpha1.LoadBalancerClassSpec{TLSPolicy: c.class}
		if c.class == "" {
			class.Annotations = &[]string{}
		}
		_, found := Read(map[string]string{TLSPolicy: c.asked}, &class, true)
		if got := slices.ContainsFunc(found, func(f Finding) bool { return f.Severity == diag.Error }); got != c.refused {
			t.Errorf("the class has %s, and %s is asked for: refused %v, told %v", c.class, c.asked, got, found)
		}
	}
}
