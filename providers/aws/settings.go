package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/resource"
)

// This file writes the settings of load balancers and reads them back, as attributes.go does
// theirs: a tag lists what was written, so that what a class does not say any more goes back to
// AWS's default.

// Names of the settings of a load balancer that are not attributes, in the list of written settings.
const (
	writtenSubnets = "subnets"
	writtenFamily  = "ip-family"
	writtenGroups  = "security-groups"
)

// usualFamily is the IP address type of load balancers whose class names none.
const usualFamily = elb.IpAddressTypeIpv4

// usualAttributes are AWS's defaults. Attributes that depend on another one have none.
var usualAttributes = map[string]string{
	"access_logs.s3.enabled":                                   "false",
	"client_keep_alive.seconds":                                "3600",
	"connection_logs.s3.enabled":                               "false",
	deletionProtection:                                         "false",
	"health_check_logs.s3.enabled":                             "false",
	"idle_timeout.timeout_seconds":                             "60",
	"ipv6.deny_all_igw_traffic":                                "false",
	"load_balancing.cross_zone.enabled":                        "true",
	"routing.http.desync_mitigation_mode":                      "defensive",
	"routing.http.drop_invalid_header_fields.enabled":          "false",
	"routing.http.preserve_host_header.enabled":                "false",
	"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": "false",
	"routing.http.xff_client_port.enabled":                     "false",
	"routing.http.xff_header_processing.mode":                  "append",
	"routing.http2.enabled":                                    "true",
	"waf.fail_open.enabled":                                    "false",
	"zonal_shift.config.enabled":                               "false",
}

// writtenOf returns the names of the settings that are set, sorted.
func writtenOf(s routing.Settings) []string {
	out := slices.Sorted(maps.Keys(s.Attributes))
	if len(s.Subnets) > 0 {
		out = append(out, writtenSubnets)
	}
	if s.IPFamily != "" {
		out = append(out, writtenFamily)
	}
	if len(s.SecurityGroups) > 0 {
		out = append(out, writtenGroups)
	}
	slices.Sort(out)
	return out
}

// balancerTags returns the tags of a load balancer after its settings were written.
func (p *Provider) balancerTags(want lb.LoadBalancer) map[string]string {
	tags := p.tags.Owned(want.Key, want.Settings.Tags)
	resource.MarkTags(tags, want.Settings.Tags)
	resource.ListWritten(tags, writtenOf(want.Settings))
	tags[resource.TagDigest] = string(want.Digest)
	return tags
}

// complete reports whether a load balancer has all of its settings once it is created with them.
func complete(s routing.Settings) bool { return len(s.Attributes) == 0 }

// modifyLoadBalancer changes the settings of a load balancer.
func (p *Provider) modifyLoadBalancer(ctx context.Context, seen *lb.Observed, want lb.LoadBalancer) (plan.Result, error) {
	there, err := p.balancers.own(ctx, want.Key)
	if err != nil {
		return plan.Result{}, err
	}
	firewall, err := p.firewalls.write(ctx, there, seen, want, p.targetGroups.portsOf(seen))
	if err != nil {
		return plan.Result{}, err
	}
	return plan.Result{Firewall: firewall}, p.writeSettings(ctx, there, want)
}

// A balancer is a load balancer of ours and its tags.
type balancer struct {
	elb.LoadBalancer
	tags map[string]string
}

func (b *balancer) arn() string { return aws.ToString(b.LoadBalancerArn) }

// writeSettings writes the settings of a load balancer, and then the tag with their digest.
func (p *Provider) writeSettings(ctx context.Context, b *balancer, want lb.LoadBalancer) error {
	gone := slices.DeleteFunc(resource.WrittenIn(b.tags), func(name string) bool { return slices.Contains(writtenOf(want.Settings), name) })
	if err := p.writeNetwork(ctx, b, want.Settings, gone); err != nil {
		return err
	}
	return balancerAttributes(p.elb).writeAll(ctx, p.tags, b.arn(), want.Settings.Attributes, b.tags, p.balancerTags(want))
}

// writeNetwork puts a load balancer into its subnets, with its IP family.
func (p *Provider) writeNetwork(ctx context.Context, b *balancer, want routing.Settings, gone []string) error {
	family := elb.IpAddressType(want.IPFamily)
	if slices.Contains(gone, writtenFamily) {
		family = usualFamily
	}
	if family == b.IpAddressType {
		family = ""
	}
	if len(want.Subnets) > 0 && !slices.Equal(want.Subnets, subnetsIn(b.LoadBalancer)) {
		_, err := p.elb.SetSubnets(ctx, &elbapi.SetSubnetsInput{LoadBalancerArn: b.LoadBalancerArn, Subnets: want.Subnets, IpAddressType: family})
		return awserr.Explain(fmt.Sprintf("moving %s to subnets %s", b.arn(), strings.Join(want.Subnets, ", ")), err)
	}
	if family == "" {
		return nil
	}
	_, err := p.elb.SetIpAddressType(ctx, &elbapi.SetIpAddressTypeInput{LoadBalancerArn: b.LoadBalancerArn, IpAddressType: family})
	return awserr.Explain("changing the IP family of "+b.arn(), err)
}

// subnetsIn are the subnets that a load balancer stands in, sorted.
func subnetsIn(b elb.LoadBalancer) []string {
	var out []string
	for _, z := range b.AvailabilityZones {
		out = append(out, aws.ToString(z.SubnetId))
	}
	slices.Sort(out)
	return out
}

// digest is that of the settings: what the tag says, or, looked at deeply, of what is there of that
// which was written. Where they were not written to the end, or the firewall is gone, there is
// none.
func (l *look) digest() lb.Digest {
	if l.firewallMissing {
		return ""
	}
	tags := l.tags[aws.ToString(l.balancer.LoadBalancerArn)]
	if !l.deep || tags[resource.TagDigest] == "" || l.assumed[aws.ToString(l.balancer.LoadBalancerArn)] {
		return lb.Digest(tags[resource.TagDigest])
	}
	s := routing.Settings{Scheme: string(l.balancer.Scheme), SecurityGroups: l.wrongGroups(), Attributes: l.attributes[aws.ToString(l.balancer.LoadBalancerArn)], Tags: l.tagsThroughout(resource.WrittenTags(tags))}
	for _, name := range resource.WrittenIn(tags) {
		switch name {
		case writtenSubnets:
			s.Subnets = subnetsIn(*l.balancer)
		case writtenFamily:
			s.IPFamily = string(l.balancer.IpAddressType)
		case writtenGroups:
			s.SecurityGroups = slices.Sorted(slices.Values(l.balancer.SecurityGroups))
		}
	}
	return lb.DigestOf(s)
}

// tagsThroughout are those of some tags that the firewall of the load balancer has, too, if it has
// one.
func (l *look) tagsThroughout(tags map[string]string) map[string]string {
	if l.firewall == "" {
		return tags
	}
	var out map[string]string
	for name, value := range tags {
		if there, has := l.firewallTags[name]; has && there == value {
			out = with(out, name, value)
		}
	}
	return out
}
