package aws

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file makes target groups and changes what of them can be changed: health checks, and attributes, of
// which a tag lists those that were written, so that they can be put back.

// anyPort is what target groups have for a port. Each target is registered with its own, so that it says
// nothing, and it cannot be changed.
const anyPort = 80

// usualGroupAttributes are AWS's defaults. Attributes that only count beside another one have none.
var usualGroupAttributes = map[string]string{
	"deregistration_delay.timeout_seconds":                                           "300",
	"load_balancing.algorithm.anomaly_mitigation":                                    "off",
	"load_balancing.algorithm.type":                                                  "round_robin",
	"load_balancing.cross_zone.enabled":                                              "use_load_balancer_configuration",
	"slow_start.duration_seconds":                                                    "0",
	"stickiness.app_cookie.duration_seconds":                                         "86400",
	"stickiness.enabled":                                                             "false",
	"stickiness.lb_cookie.duration_seconds":                                          "86400",
	"stickiness.type":                                                                "lb_cookie",
	"target_group_health.dns_failover.minimum_healthy_targets.count":                 "1",
	"target_group_health.dns_failover.minimum_healthy_targets.percentage":            "off",
	"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      "1",
	"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": "off",
}

func (p *Provider) createTargetGroup(ctx context.Context, seen *lb.Observed, g lb.TargetGroup) (plan.Result, error) {
	if err := p.reach(ctx, seen.Key, checkPort(g.Health)); err != nil {
		return plan.Result{}, err
	}
	name := p.targetGroupName(seen.Key, g.ID)
	health := g.Health
	tags := p.owned(seen.Key, map[string]string{tagGroup: string(g.ID), tagService: g.Service, tagPort: string(g.Port)})
	if len(g.Attributes) == 0 {
		tags[tagDigest] = string(g.Digest) // nothing is left to be written once it is there
	}
	out, err := p.elb.CreateTargetGroup(ctx, &elbapi.CreateTargetGroupInput{
		Name: aws.String(name), VpcId: aws.String(p.vpc), Port: aws.Int32(anyPort), Protocol: elb.ProtocolEnum(g.Protocol),
		ProtocolVersion: aws.String(g.Version), TargetType: elb.TargetTypeEnum(g.TargetType), IpAddressType: elb.TargetGroupIpAddressTypeEnum(g.Family),
		HealthCheckPath: aws.String(health.Path), HealthCheckPort: aws.String(health.Port), HealthCheckProtocol: elb.ProtocolEnum(health.Protocol),
		HealthCheckIntervalSeconds: aws.Int32(int32(health.IntervalSeconds)), HealthCheckTimeoutSeconds: aws.Int32(int32(health.TimeoutSeconds)),
		HealthyThresholdCount: aws.Int32(int32(health.HealthyThreshold)), UnhealthyThresholdCount: aws.Int32(int32(health.UnhealthyThreshold)),
		Matcher: toMatcher(g), Tags: elbTags(tags),
	})
	if is(err, "DuplicateTargetGroupName") { // made before, with other settings
		arn, err := p.groupARN(ctx, seen.Key, g.ID)
		if err != nil {
			return plan.Result{}, err
		}
		return plan.Result{Handle: arn}, p.writeGroup(ctx, arn, g)
	}
	if err != nil {
		return plan.Result{}, explained("creating target group "+name, err)
	}
	arn := aws.ToString(out.TargetGroups[0].TargetGroupArn)
	p.know(seen.Key, g.ID, arn)
	p.look(arn, nil)
	if len(g.Attributes) == 0 {
		return plan.Result{Handle: arn}, nil
	}
	return plan.Result{Handle: arn}, p.writeGroupAttributes(ctx, arn, g, nil)
}

func (p *Provider) modifyTargetGroup(ctx context.Context, seen *lb.Observed, g lb.TargetGroup) error {
	arn, err := p.groupARN(ctx, seen.Key, g.ID)
	if err != nil {
		return err
	}
	if err := p.reach(ctx, seen.Key, checkPort(g.Health)); err != nil {
		return err
	}
	return p.writeGroup(ctx, arn, g)
}

// writeGroup writes the health check of a target group, and then its attributes.
func (p *Provider) writeGroup(ctx context.Context, arn string, g lb.TargetGroup) error {
	health := g.Health
	_, err := p.elb.ModifyTargetGroup(ctx, &elbapi.ModifyTargetGroupInput{
		TargetGroupArn: aws.String(arn), Matcher: toMatcher(g),
		HealthCheckPath: aws.String(health.Path), HealthCheckPort: aws.String(health.Port), HealthCheckProtocol: elb.ProtocolEnum(health.Protocol),
		HealthCheckIntervalSeconds: aws.Int32(int32(health.IntervalSeconds)), HealthCheckTimeoutSeconds: aws.Int32(int32(health.TimeoutSeconds)),
		HealthyThresholdCount: aws.Int32(int32(health.HealthyThreshold)), UnhealthyThresholdCount: aws.Int32(int32(health.UnhealthyThreshold)),
	})
	if err != nil {
		return explained("changing target group "+arn, err)
	}
	tags, err := p.tagsOf(ctx, []string{arn})
	if err != nil {
		return err
	}
	return p.writeGroupAttributes(ctx, arn, g, tags[arn])
}

// writeGroupAttributes writes attributes, and the defaults of those that the tags say were written and that
// are not wanted any more. Then it writes the digest that says so.
func (p *Provider) writeGroupAttributes(ctx context.Context, arn string, g lb.TargetGroup, before map[string]string) error {
	var attributes []elb.TargetGroupAttribute
	for _, name := range sorted(g.Attributes) {
		attributes = append(attributes, elb.TargetGroupAttribute{Key: aws.String(name), Value: aws.String(g.Attributes[name])})
	}
	for _, name := range writtenIn(before) {
		if usual, known := usualGroupAttributes[name]; known && g.Attributes[name] == "" {
			attributes = append(attributes, elb.TargetGroupAttribute{Key: aws.String(name), Value: aws.String(usual)})
		}
	}
	tags := map[string]string{tagDigest: string(g.Digest)}
	noteWritten(tags, sorted(g.Attributes))
	// What will have been written is listed first, so that it can be put back whatever happens.
	if len(attributes) > 0 {
		listed := map[string]string{}
		noteWritten(listed, union(writtenIn(before), sorted(g.Attributes)))
		if err := p.tag(ctx, arn, listed); err != nil {
			return err
		}
		if _, err := p.elb.ModifyTargetGroupAttributes(ctx, &elbapi.ModifyTargetGroupAttributesInput{TargetGroupArn: aws.String(arn), Attributes: attributes}); err != nil {
			return explained("setting the attributes of "+arn, err)
		}
		before = listed
	}
	if surplus := surplusWritten(before, tags); len(surplus) > 0 {
		if _, err := p.elb.RemoveTags(ctx, &elbapi.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: surplus}); err != nil {
			return explained("removing tags of "+arn, err)
		}
	}
	return p.tag(ctx, arn, tags)
}

// union is what is in either list, sorted.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// readGroupAttributes reads what a deep look compares, side by side: the attributes that were written.
func (p *Provider) readGroupAttributes(ctx context.Context, l *look, _ map[string]map[string]string) error {
	if !l.deep {
		return nil
	}
	found := make([]map[string]string, len(l.groups))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(atOnce)
	for i, g := range l.groups {
		arn := aws.ToString(g.TargetGroupArn)
		written := writtenIn(l.tags[arn])
		if len(written) == 0 {
			continue
		}
		reads.Go(func() error {
			out, err := p.elb.DescribeTargetGroupAttributes(ctx, &elbapi.DescribeTargetGroupAttributesInput{TargetGroupArn: aws.String(arn)})
			if err != nil {
				return explained("reading the attributes of "+arn, err)
			}
			found[i] = map[string]string{}
			for _, a := range out.Attributes {
				if slices.Contains(written, aws.ToString(a.Key)) {
					found[i][aws.ToString(a.Key)] = aws.ToString(a.Value)
				}
			}
			return nil
		})
	}
	if err := reads.Wait(); err != nil {
		return err
	}
	for i, g := range l.groups {
		l.groupAttributes[aws.ToString(g.TargetGroupArn)] = found[i]
	}
	return nil
}
