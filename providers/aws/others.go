package aws

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws/balancers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/listeners"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/providers/aws/network"
)

// This file reads load balancers that others made, with all of their settings and tags.

// others returns the Application Load Balancers of the VPC with certain marks, by name.
func (p *Provider) others(ctx context.Context, marks lb.Marks) ([]lb.Other, error) {
	arns := []string{marks.Handle}
	if marks.Handle == "" {
		indexed, err := p.clients.Find(ctx, marks.Tags, "elasticloadbalancing:loadbalancer")
		if err != nil {
			return nil, err
		}
		arns = slices.DeleteFunc(slices.Sorted(maps.Keys(indexed)), func(arn string) bool {
			return !strings.Contains(arn, ":loadbalancer/app/")
		})
	}
	out := []lb.Other{}
	for _, arn := range arns {
		found, err := p.clients.ELB.DescribeLoadBalancers(ctx,
			&elbapi.DescribeLoadBalancersInput{LoadBalancerArns: []string{arn}})
		if client.HasCode(err, "LoadBalancerNotFound") && marks.Handle == "" {
			continue // the index of tags has deleted ones for a while
		}
		if err != nil {
			return nil, client.Explain("reading load balancer "+arn, err)
		}
		b, err := client.RequireOne(found.LoadBalancers, "DescribeLoadBalancers", "load balancer "+arn)
		if err != nil {
			return nil, err
		}
		if aws.ToString(b.VpcId) != p.options.VPC {
			continue
		}
		other, err := p.readOther(ctx, b)
		if err != nil {
			return nil, err
		}
		out = append(out, *other)
	}
	slices.SortFunc(out, func(a, b lb.Other) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// readOther reads a load balancer that others made.
func (p *Provider) readOther(ctx context.Context, b *elb.LoadBalancer) (*lb.Other, error) {
	l := &look.Look{
		Owns: func(map[string]string) bool { return false }, Deep: true, Balancer: b,
		Rules: map[string][]elb.Rule{}, Served: map[string][]elb.Certificate{},
		Health:     map[string][]lb.TargetHealth{},
		Attributes: map[string]map[string]string{}, Assumed: map[string]bool{},
	}
	for _, read := range []look.Reader{p.listeners.Read, p.targetGroups.Read, p.readInside} {
		if err := read(ctx, l, nil); err != nil {
			return nil, explainVanished(lb.Key(aws.ToString(b.LoadBalancerName)), err)
		}
	}
	var arns []string
	for _, g := range l.Groups {
		arns = append(arns, aws.ToString(g.TargetGroupArn))
	}
	inside := slices.Concat(slices.Sorted(maps.Keys(l.ARNs())), arns)
	var err error
	if l.Tags, err = p.clients.TagsOf(ctx, slices.DeleteFunc(inside, isDefaultRule(l))); err != nil {
		return nil, err
	}
	if err := look.ReadAllAttributes(ctx, p.clients.ELB, l); err != nil {
		return nil, err
	}
	if err := p.readGroupsOf(ctx, l); err != nil {
		return nil, err
	}
	out := &lb.Other{Observed: *p.observedOther(l), Name: aws.ToString(b.LoadBalancerName), Tags: l.Tags}
	return out, nil
}

// isDefaultRule reports for an ARN whether it is the default rule of a listener, which is a part of it.
func isDefaultRule(l *look.Look) func(arn string) bool {
	var defaults []string
	for _, rules := range l.Rules {
		for _, r := range rules {
			if aws.ToBool(r.IsDefault) {
				defaults = append(defaults, aws.ToString(r.RuleArn))
			}
		}
	}
	return func(arn string) bool { return slices.Contains(defaults, arn) }
}

// readGroupsOf reads the security groups of a load balancer: their tags, and which clients they admit.
func (p *Provider) readGroupsOf(ctx context.Context, l *look.Look) error {
	groups, err := p.securityGroups.Describe(ctx, &ec2.DescribeSecurityGroupsInput{
		GroupIds: l.Balancer.SecurityGroups,
	})
	if err != nil {
		return err
	}
	for _, g := range groups {
		l.Tags[aws.ToString(g.GroupId)] = network.TagsIn(g)
		l.Grants = append(l.Grants, look.ReadGrants(g)...)
	}
	return nil
}

// observedOther returns a load balancer of others in canonical form, with all settings.
func (p *Provider) observedOther(l *look.Look) *lb.Observed {
	b := l.Balancer
	arn := aws.ToString(b.LoadBalancerArn)
	o := p.toObserved(l)
	o.Read = &lb.ReadSettings{
		LoadBalancer: &routing.Settings{Scheme: string(b.Scheme), IPFamily: string(b.IpAddressType),
			Subnets: balancers.SubnetsIn(*b), Attributes: l.Attributes[arn],
			SecurityGroups: slices.Sorted(slices.Values(b.SecurityGroups))},
		Listeners: map[int32]lb.ListenerSettings{}, TargetGroups: map[lb.GroupID]lb.GroupSettings{},
	}
	for _, g := range l.Groups {
		group := p.targetGroups.ToObserved(l, g)
		o.TargetGroups = append(o.TargetGroups, group)
		o.Read.TargetGroups[group.ID] = lb.GroupSettings{HealthCheck: client.FromHealth(g),
			Attributes: l.Attributes[group.Handle]}
	}
	slices.SortFunc(o.TargetGroups, func(a, b lb.ObservedTargetGroup) int { return cmp.Compare(a.ID, b.ID) })
	for _, listener := range l.Listeners {
		o.Read.Listeners[aws.ToInt32(listener.Port)] = listeners.AllSettingsOf(l, listener)
	}
	return o
}
