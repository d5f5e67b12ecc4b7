package look

import (
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
)

// seen is a load balancer with two listeners, a rule, a target group of ours and two of others.
func seen() *Look {
	return &Look{
		Balancer:  &elb.LoadBalancer{LoadBalancerArn: aws.String("arn:balancer")},
		Listeners: []elb.Listener{{ListenerArn: aws.String("arn:80")}, {ListenerArn: aws.String("arn:443")}},
		Rules:     map[string][]elb.Rule{"arn:80": {{RuleArn: aws.String("arn:rule")}}},
		Served: map[string][]elb.Certificate{
			"arn:443": {{CertificateArn: aws.String("arn:imported")}, {CertificateArn: aws.String("arn:issued")}},
		},
		Imported: map[string]lb.ObservedCertificate{"arn:imported": {Certificate: lb.Certificate{ID: "shop/tls"}}},
		Tags: map[string]map[string]string{
			"arn:ours":    {"owner": "us", client.TagGroup: "web"},
			"arn:unnamed": {"owner": "us"},
			"arn:theirs":  {"owner": "them", client.TagGroup: "web"},
		},
		Owns: func(tags map[string]string) bool { return tags["owner"] == "us" },
	}
}

func TestTheARNsOfALoadBalancer(t *testing.T) {
	l := seen()
	if got := slices.Sorted(maps.Keys(l.ARNs())); !slices.Equal(got, []string{"arn:443", "arn:80", "arn:balancer", "arn:rule"}) {
		t.Errorf("%q", got)
	}
	if !l.ARNs()["arn:balancer"] || !l.ARNs()["arn:80"] || !l.ARNs()["arn:rule"] {
		t.Errorf("%v", l.ARNs())
	}
	l.Balancer = nil
	if l.ARNs()["arn:balancer"] || l.ARNs()[""] {
		t.Errorf("without a load balancer: %v", l.ARNs())
	}
	if got := l.ServedARNs(); !slices.Equal(got, []string{"arn:imported", "arn:issued"}) {
		t.Errorf("%q are served", got)
	}
}

// Target groups and certificates of ours have an ID. The ID of others is their ARN.
func TestIDsOfWhatIsOurs(t *testing.T) {
	l := seen()
	for arn, want := range map[string]lb.GroupID{
		"arn:ours": "web", "arn:unnamed": "arn:unnamed", "arn:theirs": "arn:theirs", "arn:unknown": "arn:unknown",
	} {
		if got := l.IDOf(arn); got != want {
			t.Errorf("the ID of %s is %s, want %s", arn, got, want)
		}
	}
	for arn, want := range map[string]lb.CertificateID{"arn:imported": "shop/tls", "arn:issued": "arn:issued"} {
		if got := l.CertificateID(arn); got != want {
			t.Errorf("the ID of %s is %s, want %s", arn, got, want)
		}
	}
	if !l.IsOurs(aws.String("arn:ours")) || l.IsOurs(aws.String("arn:theirs")) || l.IsOurs(nil) {
		t.Error("ownership is not told by the tags")
	}
}
