package aws

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws/certificates"
	"fairlead.dev/fairlead/providers/aws/resource"
)

// TestThereIsRoomForTheTagsOfAClass: AWS takes 50 tags of each object. A class can have 40, as long
// as they can be, whatever of its attributes is written besides.
func TestThereIsRoomForTheTagsOfAClass(t *testing.T) {
	const most, ofAClass = 50, 40
	p := &Provider{tags: resource.API{Owner: resource.Owner{Installation: strings.Repeat("i", resource.ValueLength)}}}
	tags := map[string]string{}
	for i := range ofAClass {
		name := fmt.Sprintf("=%d", i)
		tags[name+strings.Repeat("=", 128-len(name))] = strings.Repeat("v", resource.ValueLength)
	}
	all := func(usual map[string]string, more ...string) map[string]string {
		out := maps.Clone(usual)
		for _, name := range more {
			out[name] = "a"
		}
		return out
	}
	const key, digest = "fairlead/shop/site/internal", "v1:0123"
	balancer := p.balancerTags(lb.LoadBalancer{Key: key, Digest: digest, Settings: routing.Settings{
		Tags: tags, Subnets: []string{"subnet-1"}, IPFamily: "dualstack", SecurityGroups: []string{"sg-1"},
		Attributes: all(usualAttributes, "access_logs.s3.bucket", "access_logs.s3.prefix", "connection_logs.s3.bucket", "connection_logs.s3.prefix",
			"health_check_logs.s3.bucket", "health_check_logs.s3.prefix"),
	}})
	balancer[resource.TagWebACL], balancer[resource.TagShield] = "acl", "on"
	var headers []string
	for _, h := range []string{"strict_transport_security", "access_control_allow_origin", "access_control_allow_methods", "access_control_allow_headers",
		"access_control_allow_credentials", "access_control_expose_headers", "access_control_max_age", "content_security_policy", "x_content_type_options", "x_frame_options"} {
		headers = append(headers, "routing.http.response."+h+".header_value")
	}
	for kind, has := range map[string]map[string]string{
		"load balancer": balancer,
		"listener": p.listenerTags(key, lb.Listener{Digest: digest, Settings: lb.ListenerSettings{
			Tags: tags, Attributes: all(usualHeaders, headers...), TLSPolicy: "policy", ClientSecrets: digest,
			Mutual: &routing.MutualAuthentication{Mode: "verify", TrustStore: "partners"},
		}}),
		"target group": p.targetGroups.tagsFor(key, lb.TargetGroup{ID: "shop/web:80", Service: "shop/web", Port: "80", Digest: digest, Tags: tags,
			Attributes: all(usualGroupAttributes, "stickiness.app_cookie.cookie_name")}),
		"certificate": certificates.Tags(p.tags.Owned(key, map[string]string{resource.TagCertificate: "id", resource.TagLabel: "label"}), lb.Certificate{Digest: digest, Tags: tags}),
	} {
		if len(has) > most {
			t.Errorf("a %s has %d tags", kind, len(has))
		}
		for name, value := range has {
			if len(value) > resource.ValueLength {
				t.Errorf("a %s has the tag %s of %d characters", kind, name, len(value))
			}
		}
		if diff := cmp.Diff(tags, resource.WrittenTags(has)); diff != "" {
			t.Errorf("the tags of the class on a %s (-written +read):\n%s", kind, diff)
		}
	}
}

// TestTagsThatWereListed reads the list of tags as it was written before there were marks.
func TestTagsThatWereListed(t *testing.T) {
	tags := map[string]string{
		resource.TagWrittenList: "idle_timeout.timeout_seconds tag:cost=20centre tag:gone tag:team", "team": "web", "cost centre": "42", "somebody": "else",
	}
	want := map[string]string{"team": "web", "cost centre": "42"}
	if diff := cmp.Diff(want, resource.WrittenTags(tags)); diff != "" {
		t.Errorf("tags of the class (-want +got):\n%s", diff)
	}
	after := map[string]string{"team": "web"}
	resource.MarkTags(after, maps.Clone(after))
	if got := resource.Surplus(tags, after); !slices.Equal(got, []string{"cost centre", resource.TagWrittenList}) {
		t.Errorf("what goes is %v", got)
	}
}
