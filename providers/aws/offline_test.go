package aws_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws"
)

func TestOfflineCapabilities(t *testing.T) {
	narrow := lb.ALBGlob()
	narrow.ValuesPerCondition = 3
	for name, c := range map[string]struct {
		reason string
		class  lb.Class
		want   lb.Capabilities
	}{
		"a class that says nothing": {"has everything that AWS publishes", lb.Class{}, lb.ALB()},
		"no regular expressions":    {"is the set for globs alone", lb.Class{NoRegularExpressions: true}, lb.ALBGlob()},
		"both knobs":                {"narrow together", lb.Class{NoRegularExpressions: true, ValuesPerCondition: 3}, narrow},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, aws.Offline{}.Capabilities(c.class)); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", name, c.reason, diff)
			}
		})
	}
}

func TestOfflineLookupAnswersEveryQuestion(t *testing.T) {
	got, err := aws.Offline{}.Lookup(t.Context(), lb.Questions{CertificateHosts: []string{"a.example.com", "*.example.com"}, Network: lb.Network{Subnets: []string{"subnet-1"}}, WebACLs: []string{"edge"}, Shield: true, NamedCertificates: []lb.CertificateID{"arn:1"}})
	want := lb.Facts{
		Certificates: map[string][]lb.CertificateID{
			"a.example.com": {"acm:discovered:a.example.com"},
			"*.example.com": {"acm:discovered:*.example.com"},
		},
		Names: map[lb.CertificateID][]string{
			"acm:discovered:a.example.com": {"a.example.com"}, "acm:discovered:*.example.com": {"*.example.com"}, "arn:1": nil,
		},
		Subnets: []string{"subnet-1"},
		WebACLs: map[string]string{"edge": "edge"},
		Now:     got.Now,
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" || got.Now.IsZero() {
		t.Errorf("error %v, at %s, facts (-want +got):\n%s", err, got.Now, diff)
	}
}
