package incumbent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
)

// This file brings a stack about: target groups and the load balancer, which are found by their tags alone, and the order
// of all (pkg/deploy/stack_deployer.go, pkg/deploy/elbv2/load_balancer_*.go, target_group_*.go, tagging_manager.go).

// deploy makes and changes in this order, and deletes in the other one: security groups, target groups, the load balancer,
// listeners, rules, bindings. A load balancer that is not wanted is deleted when its turn comes.
func (c *Controller) deploy(ctx context.Context, s *stack) error {
	unusedFronts, err := c.deployFront(ctx, s)
	if err != nil {
		return err
	}
	unusedGroups, err := c.deployGroups(ctx, s)
	if err != nil {
		return err
	}
	if err := c.deployBalancer(ctx, s); err != nil {
		return err
	}
	if err := c.deployListeners(ctx, s); err != nil {
		return err
	}
	for _, l := range s.listeners {
		if err := c.deployRules(ctx, s, l); err != nil {
			return err
		}
	}
	unusedBindings, err := c.deployBindings(ctx, s)
	if err != nil {
		return err
	}
	for _, b := range unusedBindings {
		if err := c.deleteBinding(ctx, b); err != nil {
			return err
		}
	}
	for _, arn := range unusedGroups {
		if err := retry(ctx, "ResourceInUse", func() error {
			_, err := c.ELB.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: &arn})
			return err
		}); err != nil {
			return err
		}
	}
	for _, id := range unusedFronts {
		if err := c.deleteGroup(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// retry calls again while a code is answered, a few times. The controller waits longer, for 20 seconds or two minutes, and
// fails then, too (pkg/deploy/elbv2/target_group_manager.go, listener_rule_manager.go, pkg/deploy/ec2/security_group_manager.go).
func retry(ctx context.Context, code string, call func() error) error {
	for try := 0; ; try++ {
		err := call()
		if !answered(err, code) || try == 3 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func answered(err error, code string) bool {
	var answer smithy.APIError
	return errors.As(err, &answer) && answer.ErrorCode() == code
}

// targetGroups are all of the region.
func (c *Controller) targetGroups(ctx context.Context) (out []elb.TargetGroup, err error) {
	pages := elbv2.NewDescribeTargetGroupsPaginator(c.ELB, &elbv2.DescribeTargetGroupsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, page.TargetGroups...)
	}
	return out, nil
}

// tagsByARN asks for the tags of resources, twenty at once.
func (c *Controller) tagsByARN(ctx context.Context, arns []string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	for chunk := range slices.Chunk(arns, 20) {
		answer, err := c.ELB.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: chunk})
		if err != nil {
			return nil, err
		}
		for _, d := range answer.TagDescriptions {
			tags := map[string]string{}
			for _, t := range d.Tags {
				tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
			out[*d.ResourceArn] = tags
		}
	}
	return out, nil
}

// ofStack reports whether a resource is of a stack by its tags: both of them, or those of the controller's first version.
func (c *Controller) ofStack(id groupID, tags map[string]string) bool {
	return tags["ingress.k8s.aws/stack"] == id.String() && (tags["elbv2.k8s.aws/cluster"] == c.ClusterName || tags["ingress.k8s.aws/cluster"] == c.ClusterName)
}

// retag has a resource have the wanted tags and no others, those of others included. Only keys of AWS, and keys of the
// controller's first version, stay as they are.
func (c *Controller) retag(ctx context.Context, arn string, want, have map[string]string) error {
	add, remove := c.tagChange(want, have)
	if len(add) > 0 {
		if _, err := c.ELB.AddTags(ctx, &elbv2.AddTagsInput{ResourceArns: []string{arn}, Tags: elbTags(add)}); err != nil {
			return err
		}
	}
	if len(remove) == 0 {
		return nil
	}
	_, err := c.ELB.RemoveTags(ctx, &elbv2.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: slices.Sorted(maps.Keys(remove))})
	return err
}

func (c *Controller) tagChange(want, have map[string]string) (add, remove map[string]string) {
	add, remove = map[string]string{}, map[string]string{}
	for k, v := range want {
		if was, has := have[k]; !has || was != v {
			add[k] = v
		}
	}
	old := []string{"kubernetes.io/cluster/" + c.ClusterName, "kubernetes.io/cluster-name", "kubernetes.io/namespace", "kubernetes.io/ingress-name",
		"kubernetes.io/service-name", "kubernetes.io/service-port", "ingress.k8s.aws/cluster"}
	for k, v := range have {
		if _, wanted := want[k]; !wanted && !strings.HasPrefix(k, "aws:") && !slices.Contains(old, k) {
			remove[k] = v
		}
	}
	return add, remove
}

func elbTags(tags map[string]string) (out []elb.Tag) {
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, elb.Tag{Key: &k, Value: aws.String(tags[k])})
	}
	return out
}

// missing values of attributes are set; those that are not wanted stay as they are, also where they were wanted once.
func missingValues(want, have map[string]string) (keys []string) {
	for k, v := range want {
		if have[k] != v {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// deployGroups finds the target groups of the stack by tags, changes those that fit, and makes the others. It returns those
// that are to be deleted in the end.
func (c *Controller) deployGroups(ctx context.Context, s *stack) (unused []string, err error) {
	all, err := c.targetGroups(ctx)
	if err != nil {
		return nil, err
	}
	var arns []string
	for _, g := range all {
		if aws.ToString(g.VpcId) == c.VPC {
			arns = append(arns, *g.TargetGroupArn)
		}
	}
	tags, err := c.tagsByARN(ctx, arns)
	if err != nil {
		return nil, err
	}
	specs := map[string]groupSpec{}
	for _, g := range s.groups {
		if specs[g.resource], err = g.spec(c, s); err != nil {
			return nil, err
		}
	}
	for _, g := range all {
		arn := *g.TargetGroupArn
		if tags[arn] == nil || !c.ofStack(s.id, tags[arn]) {
			continue
		}
		resource, known := tags[arn]["ingress.k8s.aws/resource"]
		if !known {
			return nil, fmt.Errorf("the target group %s says not which resource it is", arn)
		}
		spec, wanted := specs[resource]
		// Another type, protocol or version is another target group (target_group_synthesizer.go:143-164).
		if !wanted || spec.kind != string(g.TargetType) || spec.protocol != string(g.Protocol) || spec.version != aws.ToString(g.ProtocolVersion) {
			unused = append(unused, arn)
			continue
		}
		if err := c.updateGroup(ctx, g, spec, tags[arn]); err != nil {
			return nil, err
		}
		s.arns[resource] = arn
	}
	for _, g := range s.groups {
		if s.arns[g.resource] == "" {
			if s.arns[g.resource], err = c.createGroup(ctx, specs[g.resource]); err != nil {
				return nil, err
			}
		}
	}
	return unused, nil
}

func (c *Controller) createGroup(ctx context.Context, spec groupSpec) (string, error) {
	in := &elbv2.CreateTargetGroupInput{
		Name: &spec.name, TargetType: elb.TargetTypeEnum(spec.kind), Port: &spec.port, Protocol: elb.ProtocolEnum(spec.protocol),
		ProtocolVersion: &spec.version, VpcId: &c.VPC, HealthCheckEnabled: aws.Bool(true), HealthCheckPort: &spec.check.port,
		HealthCheckProtocol: elb.ProtocolEnum(spec.check.protocol), HealthCheckPath: &spec.check.path, Matcher: spec.matcher(),
		HealthCheckIntervalSeconds: &spec.check.interval, HealthCheckTimeoutSeconds: &spec.check.timeout,
		HealthyThresholdCount: &spec.check.healthy, UnhealthyThresholdCount: &spec.check.unhealthy, Tags: elbTags(spec.tags),
	}
	if spec.family == "ipv6" {
		in.IpAddressType = elb.TargetGroupIpAddressTypeEnumIpv6
	}
	made, err := c.ELB.CreateTargetGroup(ctx, in)
	if err != nil {
		return "", err
	}
	arn := *made.TargetGroups[0].TargetGroupArn
	return arn, c.groupAttributes(ctx, arn, spec.attributes)
}

func (g groupSpec) matcher() *elb.Matcher {
	if g.version == "GRPC" {
		return &elb.Matcher{GrpcCode: &g.check.codes}
	}
	return &elb.Matcher{HttpCode: &g.check.codes}
}

func (c *Controller) updateGroup(ctx context.Context, g elb.TargetGroup, spec groupSpec, tags map[string]string) error {
	if err := c.retag(ctx, *g.TargetGroupArn, spec.tags, tags); err != nil {
		return err
	}
	have := healthCheck{port: aws.ToString(g.HealthCheckPort), protocol: string(g.HealthCheckProtocol), path: aws.ToString(g.HealthCheckPath),
		interval: aws.ToInt32(g.HealthCheckIntervalSeconds), timeout: aws.ToInt32(g.HealthCheckTimeoutSeconds),
		healthy: aws.ToInt32(g.HealthyThresholdCount), unhealthy: aws.ToInt32(g.UnhealthyThresholdCount)}
	if g.Matcher != nil {
		have.codes = aws.ToString(g.Matcher.HttpCode) + aws.ToString(g.Matcher.GrpcCode)
	}
	if have != spec.check {
		if _, err := c.ELB.ModifyTargetGroup(ctx, &elbv2.ModifyTargetGroupInput{
			TargetGroupArn: g.TargetGroupArn, HealthCheckEnabled: aws.Bool(true), HealthCheckPort: &spec.check.port,
			HealthCheckProtocol: elb.ProtocolEnum(spec.check.protocol), HealthCheckPath: &spec.check.path, Matcher: spec.matcher(),
			HealthCheckIntervalSeconds: &spec.check.interval, HealthCheckTimeoutSeconds: &spec.check.timeout,
			HealthyThresholdCount: &spec.check.healthy, UnhealthyThresholdCount: &spec.check.unhealthy,
		}); err != nil {
			return err
		}
	}
	return c.groupAttributes(ctx, *g.TargetGroupArn, spec.attributes)
}

func (c *Controller) groupAttributes(ctx context.Context, arn string, want map[string]string) error {
	is, err := c.ELB.DescribeTargetGroupAttributes(ctx, &elbv2.DescribeTargetGroupAttributesInput{TargetGroupArn: &arn})
	if err != nil {
		return err
	}
	have := map[string]string{}
	for _, a := range is.Attributes {
		have[*a.Key] = aws.ToString(a.Value)
	}
	in := &elbv2.ModifyTargetGroupAttributesInput{TargetGroupArn: &arn}
	for _, k := range missingValues(want, have) {
		in.Attributes = append(in.Attributes, elb.TargetGroupAttribute{Key: &k, Value: aws.String(want[k])})
	}
	if in.Attributes == nil {
		return nil
	}
	_, err = c.ELB.ModifyTargetGroupAttributes(ctx, in)
	return err
}

// balancers are the load balancers of the stack in the VPC, with their tags.
func (c *Controller) balancers(ctx context.Context, id groupID) (out []elb.LoadBalancer, tags map[string]map[string]string, err error) {
	var all []elb.LoadBalancer
	var arns []string
	pages := elbv2.NewDescribeLoadBalancersPaginator(c.ELB, &elbv2.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, lb := range page.LoadBalancers {
			if aws.ToString(lb.VpcId) == c.VPC {
				all, arns = append(all, lb), append(arns, *lb.LoadBalancerArn)
			}
		}
	}
	if tags, err = c.tagsByARN(ctx, arns); err != nil {
		return nil, nil, err
	}
	for _, lb := range all {
		if c.ofStack(id, tags[*lb.LoadBalancerArn]) {
			out = append(out, lb)
		}
	}
	return out, tags, nil
}

// deployBalancer deletes load balancers of the stack that do not fit, then makes one or changes the one that is there. One
// without the tags is unknown, also by its name: making another one of that name is AWS's to refuse.
func (c *Controller) deployBalancer(ctx context.Context, s *stack) error {
	found, tags, err := c.balancers(ctx, s.id)
	if err != nil {
		return err
	}
	var fits []elb.LoadBalancer
	for _, lb := range found {
		resource, known := tags[*lb.LoadBalancerArn]["ingress.k8s.aws/resource"]
		if !known {
			return fmt.Errorf("the load balancer %s says not which resource it is", *lb.LoadBalancerArn)
		}
		if s.balancer != nil && resource == "LoadBalancer" && lb.Type == elb.LoadBalancerTypeEnumApplication && string(lb.Scheme) == s.balancer.scheme {
			fits = append(fits, lb)
			continue
		}
		if err := c.deleteBalancer(ctx, *lb.LoadBalancerArn); err != nil {
			return err
		}
	}
	if s.balancer == nil {
		return nil
	}
	if len(fits) == 0 {
		return c.createBalancer(ctx, s)
	}
	for _, lb := range fits {
		if err := c.updateBalancer(ctx, s, lb, tags[*lb.LoadBalancerArn]); err != nil {
			return err
		}
		s.balancer.arn, s.balancer.dns = *lb.LoadBalancerArn, aws.ToString(lb.DNSName)
	}
	return nil
}

// deleteBalancer deletes a load balancer, and switches the protection off that keeps it from that
// (load_balancer_synthesizer.go:65-81).
func (c *Controller) deleteBalancer(ctx context.Context, arn string) error {
	in := &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &arn}
	_, err := c.ELB.DeleteLoadBalancer(ctx, in)
	if err == nil || !strings.Contains(err.Error(), "OperationNotPermitted") || !strings.Contains(err.Error(), "deletion protection") {
		return err
	}
	_, _ = c.ELB.ModifyLoadBalancerAttributes(ctx, &elbv2.ModifyLoadBalancerAttributesInput{LoadBalancerArn: &arn,
		Attributes: []elb.LoadBalancerAttribute{{Key: aws.String("deletion_protection.enabled"), Value: aws.String("false")}}})
	_, err = c.ELB.DeleteLoadBalancer(ctx, in)
	return err
}

// securityGroups are those that the load balancer has.
func (s *stack) securityGroups() (out []string) {
	if s.front != nil {
		out = append(out, s.front.id)
	}
	out = append(out, s.named...)
	if s.useBackend {
		out = append(out, s.peer)
	}
	return out
}

func mappings(subnets []string) (out []elb.SubnetMapping) {
	for _, id := range subnets {
		out = append(out, elb.SubnetMapping{SubnetId: &id})
	}
	return out
}

func (c *Controller) createBalancer(ctx context.Context, s *stack) error {
	b := s.balancer
	made, err := c.ELB.CreateLoadBalancer(ctx, &elbv2.CreateLoadBalancerInput{
		Name: &b.name, Type: elb.LoadBalancerTypeEnumApplication, Scheme: elb.LoadBalancerSchemeEnum(b.scheme), IpAddressType: elb.IpAddressType(b.addresses),
		SubnetMappings: mappings(b.subnets), SecurityGroups: s.securityGroups(), Tags: elbTags(b.tags),
	})
	if err != nil {
		return err
	}
	b.arn, b.dns = *made.LoadBalancers[0].LoadBalancerArn, aws.ToString(made.LoadBalancers[0].DNSName)
	return c.balancerAttributes(ctx, b)
}

func (c *Controller) updateBalancer(ctx context.Context, s *stack, lb elb.LoadBalancer, tags map[string]string) error {
	b := s.balancer
	if err := c.retag(ctx, *lb.LoadBalancerArn, b.tags, tags); err != nil {
		return err
	}
	if groups := s.securityGroups(); !sameSet(groups, lb.SecurityGroups) {
		if _, err := c.ELB.SetSecurityGroups(ctx, &elbv2.SetSecurityGroupsInput{LoadBalancerArn: lb.LoadBalancerArn, SecurityGroups: groups}); err != nil {
			return err
		}
	}
	var subnets []string
	for _, zone := range lb.AvailabilityZones {
		subnets = append(subnets, aws.ToString(zone.SubnetId))
	}
	if !sameSet(subnets, b.subnets) {
		if _, err := c.ELB.SetSubnets(ctx, &elbv2.SetSubnetsInput{LoadBalancerArn: lb.LoadBalancerArn, SubnetMappings: mappings(b.subnets)}); err != nil {
			return err
		}
	}
	if string(lb.IpAddressType) != b.addresses {
		if _, err := c.ELB.SetIpAddressType(ctx, &elbv2.SetIpAddressTypeInput{LoadBalancerArn: lb.LoadBalancerArn, IpAddressType: elb.IpAddressType(b.addresses)}); err != nil {
			return err
		}
	}
	b.arn = *lb.LoadBalancerArn
	return c.balancerAttributes(ctx, b)
}

func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

func (c *Controller) balancerAttributes(ctx context.Context, b *balancer) error {
	is, err := c.ELB.DescribeLoadBalancerAttributes(ctx, &elbv2.DescribeLoadBalancerAttributesInput{LoadBalancerArn: &b.arn})
	if err != nil {
		return err
	}
	have := map[string]string{}
	for _, a := range is.Attributes {
		have[*a.Key] = aws.ToString(a.Value)
	}
	in := &elbv2.ModifyLoadBalancerAttributesInput{LoadBalancerArn: &b.arn}
	for _, k := range missingValues(b.attributes, have) {
		in.Attributes = append(in.Attributes, elb.LoadBalancerAttribute{Key: &k, Value: aws.String(b.attributes[k])})
	}
	if in.Attributes == nil {
		return nil
	}
	_, err = c.ELB.ModifyLoadBalancerAttributes(ctx, in)
	return err
}
