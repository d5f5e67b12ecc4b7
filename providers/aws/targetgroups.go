package aws

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file makes target groups and changes what of them can be changed: health checks and
// attributes.

// anyPort is what target groups have for a port. Each target is registered with its own, so that it
// says nothing, and it cannot be changed.
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
	p.nodes.addCheckPorts(checkPort(g.Health))
	if err := p.nodes.openPorts(ctx, seen.Key, checkPort(g.Health)); err != nil {
		return plan.Result{}, err
	}
	name := p.targetGroupName(seen.Key, g.ID)
	health := g.Health
	tags := p.groupTags(seen.Key, g)
	if len(g.Attributes) > 0 {
		tags = unsigned(tags)
	}
	out, err := p.elb.CreateTargetGroup(ctx, &elbapi.CreateTargetGroupInput{
		Name: aws.String(name), VpcId: aws.String(p.vpc), Port: aws.Int32(anyPort), Protocol: elb.ProtocolEnum(g.Protocol),
		ProtocolVersion: aws.String(g.Version), TargetType: elb.TargetTypeEnum(g.TargetType), IpAddressType: elb.TargetGroupIpAddressTypeEnum(g.Family),
		HealthCheckPath: aws.String(health.Path), HealthCheckPort: aws.String(health.Port), HealthCheckProtocol: elb.ProtocolEnum(health.Protocol),
		HealthCheckIntervalSeconds: aws.Int32(int32(health.IntervalSeconds)), HealthCheckTimeoutSeconds: aws.Int32(int32(health.TimeoutSeconds)),
		HealthyThresholdCount: aws.Int32(int32(health.HealthyThreshold)), UnhealthyThresholdCount: aws.Int32(int32(health.UnhealthyThreshold)),
		Matcher: toMatcher(g), Tags: elbTags(tags),
	})
	made := &elb.TargetGroup{}
	if err == nil {
		if made, err = only(out.TargetGroups, "CreateTargetGroup", "a target group"); err != nil {
			return plan.Result{}, err
		}
	}
	// One was made before, with other settings, or with these: then it may be in use.
	if is(err, "DuplicateTargetGroupName") || len(made.LoadBalancerArns) > 0 {
		arn, err := p.groupARN(ctx, seen.Key, g.ID)
		if err != nil {
			return plan.Result{}, err
		}
		return plan.Result{Handle: arn}, p.writeGroup(ctx, seen.Key, arn, g)
	}
	if err != nil {
		return plan.Result{}, p.explained("creating target group "+name, err)
	}
	arn, err := said(made.TargetGroupArn, "CreateTargetGroup", "an ARN")
	if err != nil {
		return plan.Result{}, err
	}
	p.know(seen.Key, g.ID, arn)
	p.made(arn)
	if len(g.Attributes) == 0 {
		return plan.Result{Handle: arn}, nil
	}
	return plan.Result{Handle: arn}, p.writeAttributes(ctx, p.groupAttributes(), arn, g.Attributes, tags, p.groupTags(seen.Key, g))
}

// groupTags are the tags of a target group whose settings are written.
func (p *Provider) groupTags(key lb.Key, g lb.TargetGroup) map[string]string {
	tags := p.owned(key, g.Tags)
	tags[tagGroup], tags[tagService], tags[tagPort] = string(g.ID), g.Service, string(g.Port)
	noteTags(tags, g.Tags)
	noteWritten(tags, sorted(g.Attributes))
	tags[tagDigest] = string(g.Digest)
	return tags
}

func (p *Provider) modifyTargetGroup(ctx context.Context, seen *lb.Observed, g lb.TargetGroup) error {
	arn, err := p.groupARN(ctx, seen.Key, g.ID)
	if err != nil {
		return err
	}
	p.nodes.addCheckPorts(checkPort(g.Health))
	if err := p.nodes.openPorts(ctx, seen.Key, checkPort(g.Health)); err != nil {
		return err
	}
	return p.writeGroup(ctx, seen.Key, arn, g)
}

// writeGroup writes the health check of a target group, and then its attributes.
func (p *Provider) writeGroup(ctx context.Context, key lb.Key, arn string, g lb.TargetGroup) error {
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
	return p.writeAttributes(ctx, p.groupAttributes(), arn, g.Attributes, tags[arn], p.groupTags(key, g))
}

// portsInUse are the ports of all targets and health checks of the installation.
func (p *Provider) portsInUse(ctx context.Context) (map[int32]bool, error) {
	there, err := p.groupsOfAll(ctx)
	if err != nil {
		return nil, err
	}
	health := make([][]lb.TargetHealth, len(there))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(atOnce)
	for i, g := range there {
		reads.Go(providers.Safely(ctx, func() (err error) {
			if health[i], err = p.healthOf(ctx, aws.ToString(g.TargetGroupArn)); is(err, "TargetGroupNotFound") {
				return nil // deleted a moment ago
			}
			return err
		}))
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	used := map[int32]bool{}
	for i, g := range there {
		for _, port := range checkPort(routing.HealthCheck{Port: aws.ToString(g.HealthCheckPort)}) {
			used[port] = true
		}
		for _, t := range health[i] {
			used[t.Port] = true
		}
	}
	return used, nil
}

// groupsOfAll are the target groups of the installation, and those whose tags cannot be read. The
// index of tags is not asked: it may lack a target group that was made a while ago, whose ports
// would be shut.
func (p *Provider) groupsOfAll(ctx context.Context) ([]elb.TargetGroup, error) {
	var all []elb.TargetGroup
	pages := elbapi.NewDescribeTargetGroupsPaginator(p.elb, &elbapi.DescribeTargetGroupsInput{PageSize: aws.Int32(400)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, explained("reading target groups", err)
		}
		for _, g := range page.TargetGroups {
			if aws.ToString(g.VpcId) == p.vpc && strings.HasPrefix(aws.ToString(g.TargetGroupName), namePrefix) {
				all = append(all, g)
			}
		}
	}
	var out []elb.TargetGroup
	for part := range slices.Chunk(all, tagBatch) {
		tags, err := p.tagsOf(ctx, each(part, func(g elb.TargetGroup) string { return aws.ToString(g.TargetGroupArn) }))
		if err != nil && !is(err, "TargetGroupNotFound") { // one that was deleted a moment ago fails the call for all of them
			return nil, err
		}
		for _, g := range part {
			if found, read := tags[aws.ToString(g.TargetGroupArn)]; !read || found[tagInstallation] == p.installation {
				out = append(out, g)
			}
		}
	}
	return out, nil
}
