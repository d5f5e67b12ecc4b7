package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/trials"
)

// This file makes a load balancer as the AWS Load Balancer Controller makes it, with its tags and names (its
// pkg/deploy/tracking/provider.go and pkg/ingress/model_build_load_balancer.go), and tests what taking it over assumes.

const (
	formerNames   = "k8s-prove-"
	formerCluster = "elbv2.k8s.aws/cluster"
	// tagTrial is on all that such a run makes. It is none of the tags that change when a load balancer is taken over, so
	// that what a run leaves is found in any state.
	tagTrial = "prove.fairlead.dev/installation"
)

// FormerName returns the name of the load balancer of this run.
func (p *Trials) FormerName() string {
	name := formerNames + "former-" + strings.TrimPrefix(p.Installation, trials.Prefix)
	return name[:min(len(name), 32)]
}

// formerTags returns the tags of a resource of an Ingress prove/former.
func (p *Trials) formerTags(resource string) map[string]string {
	return map[string]string{
		formerCluster: p.Installation, "ingress.k8s.aws/stack": "prove/former", "ingress.k8s.aws/resource": resource,
		tagTrial: p.Installation,
	}
}

// MakeFormer makes a load balancer with one listener and one target group, which forwards to it.
func (p *Trials) MakeFormer(ctx context.Context, want lb.LoadBalancer) (string, error) {
	t := &trial{Trials: p}
	group, err := p.formerSecurityGroup(ctx, want.Listeners[0])
	if err != nil {
		return "", err
	}
	var balancer *elbapi.CreateLoadBalancerOutput
	if err := t.found(ctx, func() (err error) {
		balancer, err = p.ELB.CreateLoadBalancer(ctx, p.formerBalancer(want, group, "LoadBalancer"))
		return err
	}); err != nil {
		return "", client.Explain("creating load balancer "+p.FormerName(), err)
	}
	made, err := client.RequireOne(balancer.LoadBalancers, "CreateLoadBalancer", "a load balancer")
	if err != nil {
		return "", err
	}
	arn, err := client.RequireID(made.LoadBalancerArn, "CreateLoadBalancer", "an ARN")
	if err != nil {
		return "", err
	}
	target, err := p.formerGroup(ctx, want.TargetGroups[0])
	if err != nil {
		return "", err
	}
	return arn, t.formerListener(ctx, arn, want.Listeners[0], map[lb.GroupID]string{want.TargetGroups[0].ID: target})
}

// formerBalancer returns the call that makes the load balancer.
func (p *Trials) formerBalancer(want lb.LoadBalancer, group, resource string) *elbapi.CreateLoadBalancerInput {
	return &elbapi.CreateLoadBalancerInput{
		Name: aws.String(p.FormerName()), Type: elb.LoadBalancerTypeEnumApplication, Scheme: elb.LoadBalancerSchemeEnumInternal,
		IpAddressType: elb.IpAddressTypeIpv4, Subnets: want.Settings.Subnets, SecurityGroups: []string{group},
		Tags: client.ELBTags(p.formerTags(resource)),
	}
}

// formerSecurityGroup makes the security group of the load balancer.
func (p *Trials) formerSecurityGroup(ctx context.Context, l lb.Listener) (string, error) {
	var tags []ec2types.Tag
	for _, t := range client.ELBTags(p.formerTags("ManagedLBSecurityGroup")) {
		tags = append(tags, ec2types.Tag{Key: t.Key, Value: t.Value})
	}
	made, err := p.EC2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
		GroupName: aws.String(p.FormerName()), VpcId: aws.String(p.VPC),
		Description:       aws.String("[k8s] Managed SecurityGroup for LoadBalancer"),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: tags}},
	})
	if err != nil {
		return "", client.Explain("creating security group "+p.FormerName(), err)
	}
	id, err := client.RequireID(made.GroupId, "CreateSecurityGroup", "an ID")
	if err != nil {
		return "", err
	}
	permission := ec2types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(l.Port), ToPort: aws.Int32(l.Port)}
	for _, source := range l.Settings.Inbound {
		permission.IpRanges = append(permission.IpRanges, ec2types.IpRange{CidrIp: aws.String(source)})
	}
	err = (&trial{Trials: p}).found(ctx, func() error {
		_, err := p.EC2.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{
			GroupId: aws.String(id), IpPermissions: []ec2types.IpPermission{permission},
		})
		return err
	})
	return id, client.Explain("changing security group "+id, err)
}

// formerGroup makes the target group, and registers its targets.
func (p *Trials) formerGroup(ctx context.Context, g lb.TargetGroup) (string, error) {
	made, err := p.ELB.CreateTargetGroup(ctx, &elbapi.CreateTargetGroupInput{
		Name: aws.String(strings.Replace(p.FormerName(), "former", "web", 1)), VpcId: aws.String(p.VPC), Port: aws.Int32(80),
		Protocol: elb.ProtocolEnumHttp, ProtocolVersion: aws.String("HTTP1"), TargetType: elb.TargetTypeEnumIp,
		HealthCheckPath: aws.String(g.Health.Path), HealthCheckPort: aws.String("traffic-port"), HealthCheckProtocol: elb.ProtocolEnumHttp,
		HealthCheckIntervalSeconds: aws.Int32(int32(g.Health.IntervalSeconds)),
		HealthCheckTimeoutSeconds:  aws.Int32(int32(g.Health.TimeoutSeconds)),
		HealthyThresholdCount:      aws.Int32(int32(g.Health.HealthyThreshold)),
		UnhealthyThresholdCount:    aws.Int32(int32(g.Health.UnhealthyThreshold)),
		Matcher:                    &elb.Matcher{HttpCode: aws.String(g.Health.SuccessCodes)},
		Tags:                       client.ELBTags(p.formerTags("prove/former-web:80")),
	})
	if err != nil {
		return "", client.Explain("creating a target group", err)
	}
	one, err := client.RequireOne(made.TargetGroups, "CreateTargetGroup", "a target group")
	if err != nil {
		return "", err
	}
	arn, err := client.RequireID(one.TargetGroupArn, "CreateTargetGroup", "an ARN")
	if err != nil || len(g.Targets) == 0 {
		return arn, err
	}
	err = (&trial{Trials: p}).found(ctx, func() error {
		_, err := p.ELB.RegisterTargets(ctx, &elbapi.RegisterTargetsInput{TargetGroupArn: aws.String(arn),
			Targets: client.Map(g.Targets, func(t lb.Target) elb.TargetDescription {
				return elb.TargetDescription{Id: aws.String(t.Address), Port: aws.Int32(t.Port)}
			})})
		return err
	})
	return arn, client.Explain("registering targets", err)
}

// formerListener makes the listener with its rules.
func (t *trial) formerListener(ctx context.Context, balancer string, l lb.Listener, groups map[lb.GroupID]string) error {
	arnOf := func(id lb.GroupID) (string, error) { return groups[id], nil }
	actions, err := client.ToActions(l.Default, arnOf)
	if err != nil {
		return err
	}
	err = t.found(ctx, func() error {
		out, err := t.ELB.CreateListener(ctx, &elbapi.CreateListenerInput{
			LoadBalancerArn: aws.String(balancer), Port: aws.Int32(l.Port), Protocol: elb.ProtocolEnum(l.Protocol),
			DefaultActions: actions, Tags: client.ELBTags(t.formerTags(fmt.Sprint(l.Port))),
		})
		if err == nil && len(out.Listeners) == 1 {
			t.listener = aws.ToString(out.Listeners[0].ListenerArn)
		}
		return err
	})
	if err != nil {
		return client.Explain("creating a listener", err)
	}
	for i, r := range l.Rules {
		actions, err := client.ToActions(r.Action, arnOf)
		if err != nil {
			return err
		}
		err = t.found(ctx, func() error {
			_, err := t.ELB.CreateRule(ctx, &elbapi.CreateRuleInput{
				ListenerArn: aws.String(t.listener), Priority: aws.Int32(int32(i + 1)), Actions: actions,
				Conditions: client.ToConditions(r.Conditions), Tags: client.ELBTags(t.formerTags(fmt.Sprintf("%d:%d", l.Port, i+1))),
			})
			return err
		})
		if err != nil {
			return client.Explain("creating a rule", err)
		}
	}
	return nil
}

// found makes a call, and repeats it while AWS does not find what it names, which was made a moment ago.
func (t *trial) found(ctx context.Context, call func() error) (err error) {
	_, _, waited := t.waitUntil(ctx, func(context.Context) (bool, error) {
		err = call()
		code := client.ErrorCode(err)
		return !strings.HasSuffix(code, "NotFound") && !strings.HasSuffix(code, "NotFoundException") && code != "InvalidSecurityGroup", nil
	})
	if err == nil {
		err = waited
	}
	return err
}

// TryFormer tests the assumptions that taking over makes.
func (p *Trials) TryFormer(ctx context.Context, handle string) []check.Finding {
	t := &trial{Trials: p, next: 40000, balancer: handle}
	err := t.locateListener(ctx, p.FormerName())
	var out []check.Finding
	for _, a := range Assumptions {
		if try := testedByTaking[a.ID]; try != nil {
			out = append(out, t.findingOf(ctx, a, try, err))
		}
	}
	return out
}

// tryTagsAtOnce changes the tags of as many resources in one call as a takeover does.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_AddTags.html
func (t *trial) tryTagsAtOnce(ctx context.Context) outcome {
	var arns []string
	defer func() {
		for _, arn := range arns {
			t.deleteRule(ctx, arn)
		}
	}()
	for range client.TagBatch {
		arn, err := t.createRule(ctx, hosts("tags.prove.invalid"))
		if err != nil {
			return unknownOutcome(err)
		}
		arns = append(arns, arn)
	}
	const name = "prove"
	add := func() error {
		_, err := t.ELB.AddTags(ctx, &elbapi.AddTagsInput{ResourceArns: arns, Tags: client.ELBTags(map[string]string{name: "1"})})
		return err
	}
	remove := func() error {
		_, err := t.ELB.RemoveTags(ctx, &elbapi.RemoveTagsInput{ResourceArns: arns, TagKeys: []string{name}})
		return err
	}
	for _, step := range []struct {
		call string
		do   func() error
		have int
	}{{"AddTags", add, len(arns)}, {"RemoveTags", remove, 0}} {
		if err := t.found(ctx, step.do); client.HasCode(err, "ValidationError", "TooManyTags", "InvalidParameterValue") {
			return wrong(fmt.Sprintf("AWS refuses %s for %d resources: %s", step.call, len(arns), client.Describe(err)))
		} else if err != nil {
			return unknownOutcome(err)
		}
		var have int
		_, changed, err := t.waitUntil(ctx, func(ctx context.Context) (bool, error) {
			tags, err := t.TagsOf(ctx, arns)
			if have = 0; err != nil {
				return false, err
			}
			for _, of := range tags {
				if of[name] != "" {
					have++
				}
			}
			return have == step.have, nil
		})
		if err != nil {
			return unknownOutcome(err)
		}
		if !changed {
			return wrong(fmt.Sprintf("after %s for %d resources, %d of them have the tag", step.call, len(arns), have))
		}
	}
	return holds(fmt.Sprintf("AWS changes the tags of %d resources in a call", len(arns)))
}

// tryTakenName creates the load balancer once more, with another tag.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateLoadBalancer.html
func (t *trial) tryTakenName(ctx context.Context) outcome {
	there, err := t.ELB.DescribeLoadBalancers(ctx, &elbapi.DescribeLoadBalancersInput{LoadBalancerArns: []string{t.balancer}})
	if err != nil {
		return unknownOutcome(err)
	}
	b, err := client.RequireOne(there.LoadBalancers, "DescribeLoadBalancers", "the load balancer")
	if err != nil || len(b.SecurityGroups) == 0 {
		return unknownOutcome(fmt.Errorf("it is described without what it was made with: %w", err))
	}
	want := lb.LoadBalancer{}
	for _, z := range b.AvailabilityZones {
		want.Settings.Subnets = append(want.Settings.Subnets, aws.ToString(z.SubnetId))
	}
	slices.Sort(want.Settings.Subnets)
	out, err := t.ELB.CreateLoadBalancer(ctx, t.formerBalancer(want, b.SecurityGroups[0], "Another"))
	switch {
	case client.HasCode(err, "DuplicateLoadBalancerName"):
		return holds("refused: " + client.Describe(err))
	case err != nil:
		return unknownOutcome(err)
	case len(out.LoadBalancers) == 1 && aws.ToString(out.LoadBalancers[0].LoadBalancerArn) == t.balancer:
		tags, err := t.TagsOf(ctx, []string{t.balancer})
		if err != nil {
			return unknownOutcome(err)
		}
		replaced := "keeps its tags"
		if tags[t.balancer]["ingress.k8s.aws/resource"] == "Another" {
			replaced = "gets the other tags"
		}
		return wrong("AWS answers with the load balancer that is there, which " + replaced)
	}
	return wrong(fmt.Sprintf("AWS makes a second load balancer %s", t.FormerName()))
}
