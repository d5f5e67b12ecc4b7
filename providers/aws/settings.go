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
)

// This file writes the settings of load balancers and reads them back. What a class says is written, what
// it does not say any more goes back to AWS's default, and what it never said is left to whoever did. A
// tag tells them apart: it lists what was written.

// What of a load balancer a class may set, as the list of what was written names it: these, attributes by
// their own names, and tags behind tagWritten.
const (
	writtenSubnets = "subnets"
	writtenFamily  = "ip-family"
	writtenGroups  = "security-groups"
	tagWritten     = "tag:"
)

// usualFamily is what load balancers have that nothing else is asked of.
const usualFamily = elb.IpAddressTypeIpv4

// usualAttributes are AWS's defaults. Attributes that only count beside another one have none.
var usualAttributes = map[string]string{
	"access_logs.s3.enabled":                                   "false",
	"client_keep_alive.seconds":                                "3600",
	"connection_logs.s3.enabled":                               "false",
	"deletion_protection.enabled":                              "false",
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

// writtenOf lists what settings say, sorted.
func writtenOf(s routing.Settings) []string {
	out := sorted(s.Attributes)
	for _, name := range sorted(s.Tags) {
		out = append(out, tagWritten+name)
	}
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

// balancerTags are the tags of a load balancer whose settings are written.
func (p *Provider) balancerTags(want lb.LoadBalancer) map[string]string {
	tags := p.owned(want.Key, want.Settings.Tags)
	noteWritten(tags, writtenOf(want.Settings))
	tags[tagDigest] = string(want.Digest)
	return tags
}

// complete reports whether a load balancer has all of its settings once it is created with them.
func complete(s routing.Settings) bool { return len(s.Attributes) == 0 }

// modifyLoadBalancer changes the settings of a load balancer.
func (p *Provider) modifyLoadBalancer(ctx context.Context, seen *lb.Observed, want lb.LoadBalancer) (plan.Result, error) {
	there, err := p.ownBalancer(ctx, want.Key)
	if err != nil {
		return plan.Result{}, err
	}
	firewall, err := p.writeFence(ctx, there, seen, want)
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

// writeSettings makes the settings of a load balancer what is wanted, and then writes the digest that says
// so.
func (p *Provider) writeSettings(ctx context.Context, b *balancer, want lb.LoadBalancer) error {
	gone := slices.DeleteFunc(writtenIn(b.tags), func(name string) bool { return slices.Contains(writtenOf(want.Settings), name) })
	if err := p.writeNetwork(ctx, b, want.Settings, gone); err != nil {
		return err
	}
	if err := p.writeAttributes(ctx, b.arn(), want.Settings.Attributes, gone); err != nil {
		return err
	}
	return p.writeTags(ctx, b, want, gone)
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
		return explained(fmt.Sprintf("moving %s to subnets %s", b.arn(), strings.Join(want.Subnets, ", ")), err)
	}
	if family == "" {
		return nil
	}
	_, err := p.elb.SetIpAddressType(ctx, &elbapi.SetIpAddressTypeInput{LoadBalancerArn: b.LoadBalancerArn, IpAddressType: family})
	return explained("changing the IP family of "+b.arn(), err)
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

// attributeBatch is how many attributes AWS takes at once.
const attributeBatch = 20

// writeAttributes writes attributes, and the defaults of those that are gone.
func (p *Provider) writeAttributes(ctx context.Context, arn string, want map[string]string, gone []string) error {
	values := maps.Clone(want)
	for _, name := range gone {
		if usual, known := usualAttributes[name]; known {
			if values == nil {
				values = map[string]string{}
			}
			values[name] = usual
		}
	}
	var attributes []elb.LoadBalancerAttribute
	for _, name := range sorted(values) {
		attributes = append(attributes, elb.LoadBalancerAttribute{Key: aws.String(name), Value: aws.String(values[name])})
	}
	for part := range slices.Chunk(attributes, attributeBatch) {
		if _, err := p.elb.ModifyLoadBalancerAttributes(ctx, &elbapi.ModifyLoadBalancerAttributesInput{LoadBalancerArn: aws.String(arn), Attributes: part}); err != nil {
			return explained("setting the attributes of "+arn, err)
		}
	}
	return nil
}

// writeTags removes the tags that are gone and writes the others, the digest among them.
func (p *Provider) writeTags(ctx context.Context, b *balancer, want lb.LoadBalancer, gone []string) error {
	tags := p.balancerTags(want)
	surplus := surplusWritten(b.tags, tags)
	for _, name := range gone {
		if name, isTag := strings.CutPrefix(name, tagWritten); isTag {
			surplus = append(surplus, name)
		}
	}
	if err := p.tag(ctx, b.arn(), tags); err != nil || len(surplus) == 0 {
		return err
	}
	_, err := p.elb.RemoveTags(ctx, &elbapi.RemoveTagsInput{ResourceArns: []string{b.arn()}, TagKeys: surplus})
	return explained("removing tags of "+b.arn(), err)
}

// readSettings reads what a deep look compares, as far as it was written.
func (p *Provider) readSettings(ctx context.Context, l *look, _ map[string]map[string]string) error {
	if l.balancer == nil || !l.deep {
		return nil
	}
	p.leave(l.key) // where it is to stand is thought over, too
	p.forgetReached()
	written := writtenIn(l.tags[aws.ToString(l.balancer.LoadBalancerArn)])
	if !slices.ContainsFunc(written, isAttribute) {
		return nil
	}
	out, err := p.elb.DescribeLoadBalancerAttributes(ctx, &elbapi.DescribeLoadBalancerAttributesInput{LoadBalancerArn: l.balancer.LoadBalancerArn})
	if err != nil {
		return explained("reading the attributes of "+aws.ToString(l.balancer.LoadBalancerArn), err)
	}
	l.attributes = map[string]string{}
	for _, a := range out.Attributes {
		l.attributes[aws.ToString(a.Key)] = aws.ToString(a.Value)
	}
	return nil
}

// isAttribute reports whether something that was written is an attribute: their names have dots.
func isAttribute(written string) bool {
	return strings.Contains(written, ".") && !strings.HasPrefix(written, tagWritten)
}

// digest is that of the settings: what the tag says, or, looked at deeply, of what is there of that which
// was written. Where they were not written to the end there is none.
func (l *look) digest() lb.Digest {
	tags := l.tags[aws.ToString(l.balancer.LoadBalancerArn)]
	if !l.deep || tags[tagDigest] == "" {
		return lb.Digest(tags[tagDigest])
	}
	s := routing.Settings{Scheme: string(l.balancer.Scheme), SecurityGroups: l.strange()}
	for _, name := range writtenIn(tags) {
		tag, isTag := strings.CutPrefix(name, tagWritten)
		switch {
		case name == writtenSubnets:
			s.Subnets = subnetsIn(*l.balancer)
		case name == writtenFamily:
			s.IPFamily = string(l.balancer.IpAddressType)
		case name == writtenGroups:
			s.SecurityGroups = slices.Sorted(slices.Values(l.balancer.SecurityGroups))
		case isTag:
			note(&s.Tags, tag, tags)
		default:
			note(&s.Attributes, name, l.attributes)
		}
	}
	return lb.DigestOf(s)
}

// note copies one value of a map, if it has it.
func note(into *map[string]string, name string, from map[string]string) {
	value, there := from[name]
	if !there {
		return
	}
	if *into == nil {
		*into = map[string]string{}
	}
	(*into)[name] = value
}
