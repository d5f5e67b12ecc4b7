package aws

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
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

// This file reads load balancers that others made, with all of their settings and tags. A field of the SDK that is not
// read, and is set, is an oddity.

// others returns the load balancers with certain tags, by name. Of those that Fairlead could not take over, it reads the
// tags alone.
func (p *Provider) others(ctx context.Context, tags map[string]string) ([]lb.Other, error) {
	indexed, err := p.clients.Find(ctx, tags, "elasticloadbalancing:loadbalancer")
	if err != nil {
		return nil, err
	}
	out := []lb.Other{}
	for _, arn := range slices.Sorted(maps.Keys(indexed)) {
		one, err := p.other(ctx, arn, indexed[arn])
		if err != nil {
			return nil, err
		}
		if one != nil { // the index of tags has deleted ones for a while
			out = append(out, *one)
		}
	}
	slices.SortFunc(out, func(a, b lb.Other) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Found reads a load balancer that others made, or nil if there is none.
func (p *Provider) Found(ctx context.Context, handle string) (*lb.Other, error) {
	return p.other(ctx, handle, nil)
}

// other reads a load balancer that others made, or nil if there is none: all of it, or its tags alone if Fairlead could not
// take it over.
func (p *Provider) other(ctx context.Context, arn string, tags map[string]string) (*lb.Other, error) {
	found, err := p.clients.ELB.DescribeLoadBalancers(ctx,
		&elbapi.DescribeLoadBalancersInput{LoadBalancerArns: []string{arn}})
	if client.HasCode(err, "LoadBalancerNotFound") {
		return nil, nil
	}
	if err != nil {
		return nil, client.Explain("reading load balancer "+arn, err)
	}
	b, err := client.RequireOne(found.LoadBalancers, "DescribeLoadBalancers", "load balancer "+arn)
	if err != nil {
		return nil, err
	}
	one := &lb.Other{Observed: lb.Observed{Handle: arn}, Tags: map[string]map[string]string{arn: tags}}
	switch {
	case b.Type != elb.LoadBalancerTypeEnumApplication:
		one.NotRead = "it is a load balancer of type " + string(b.Type) + ", which Fairlead does not make"
	case aws.ToString(b.VpcId) != p.options.VPC:
		one.NotRead = "it is in " + aws.ToString(b.VpcId) + ", and Fairlead looks at " + p.options.VPC
	default:
		if one, err = p.readOther(ctx, b); err != nil {
			return nil, err
		}
	}
	one.Name = aws.ToString(b.LoadBalancerName)
	return one, nil
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
	inside := l.ARNs()
	for _, g := range l.Groups {
		inside[aws.ToString(g.TargetGroupArn)] = true
	}
	for _, rules := range l.Rules {
		for _, r := range rules {
			if aws.ToBool(r.IsDefault) {
				delete(inside, aws.ToString(r.RuleArn)) // it is a part of its listener
			}
		}
	}
	var err error
	if l.Tags, err = p.clients.TagsOf(ctx, slices.Sorted(maps.Keys(inside))); err != nil {
		return nil, err
	}
	if err := p.readLoose(ctx, l); err != nil {
		return nil, err
	}
	if err := look.ReadAllAttributes(ctx, p.clients.ELB, l); err != nil {
		return nil, err
	}
	groups, err := p.securityGroups.Describe(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: b.SecurityGroups})
	if err != nil {
		return nil, err
	}
	groups = slices.DeleteFunc(groups, func(g ec2types.SecurityGroup) bool {
		tags := network.TagsIn(g) // of the group that Admit adds, which is none of others
		return tags[client.TagInstallation] == p.clients.Installation && client.KeyIn(tags) == ""
	})
	names := map[string]string{}
	for _, g := range groups {
		l.Tags[aws.ToString(g.GroupId)], names[aws.ToString(g.GroupId)] = network.TagsIn(g), aws.ToString(g.GroupName)
	}
	p.readGuards(ctx, l)
	out := p.toOther(l)
	if tags := l.Tags[out.Handle]; tags[client.TagInstallation] == p.clients.Installation {
		out.Key = client.KeyIn(tags) // it was taken over
		out.Behind = p.behind(l.Tags, tags, names)
	}
	out.Names, out.Read.LoadBalancer.SecurityGroups = names, slices.Sorted(maps.Keys(names))
	for _, listener := range l.Listeners {
		port := aws.ToInt32(listener.Port)
		s := out.Read.Listeners[port]
		if s.Inbound = look.SourcesOn(groups, port); len(s.Inbound) == 0 {
			s.Inbound = []string{"nobody"}
		}
		out.Read.Listeners[port] = s
	}
	return out, nil
}

// behind returns the parts of a load balancer that were read without our tags. names are those of its security groups: one has
// our tags if the load balancer says that we took it over.
func (p *Provider) behind(tags map[string]map[string]string, balancer, names map[string]string) (out []string) {
	for _, handle := range slices.Sorted(maps.Keys(tags)) {
		name, isGroup := names[handle]
		if isGroup && (balancer[client.TagFirewall] == "" || name != client.UnquoteTag(balancer[client.TagFirewall])) {
			continue
		}
		if tags[handle][client.TagInstallation] != p.clients.Installation {
			out = append(out, handle)
		}
	}
	return out
}

// readLoose reads the target groups that no rule names, of a load balancer that was taken over, wholly or in part: ours, and
// those that the controller made for it.
func (p *Provider) readLoose(ctx context.Context, l *look.Look) error {
	key := lb.Key("")
	for _, tags := range l.Tags {
		if tags[client.TagInstallation] == p.clients.Installation && client.KeyIn(tags) != "" {
			key = client.KeyIn(tags)
		}
	}
	if key == "" {
		return nil
	}
	indexed, err := p.clients.Find(ctx, p.clients.Owned(key, nil), "elasticloadbalancing:targetgroup")
	if err != nil {
		return err
	}
	if theirs := client.TheirsFor(l.Tags[aws.ToString(l.Balancer.LoadBalancerArn)]); theirs != nil {
		left, err := p.clients.Find(ctx, theirs, "elasticloadbalancing:targetgroup")
		if err != nil {
			return err
		}
		maps.Copy(indexed, left)
	}
	loose := &look.Look{Key: key}
	for _, g := range l.Groups {
		delete(indexed, aws.ToString(g.TargetGroupArn))
	}
	if err := p.targetGroups.Read(ctx, loose, indexed); err != nil {
		return err
	}
	for _, g := range loose.Groups {
		arn := aws.ToString(g.TargetGroupArn)
		if l.Tags[arn] != nil { // the index of tags lacks it
			continue
		}
		tags, err := p.clients.TagsOf(ctx, []string{arn})
		if err != nil {
			return err
		}
		if l.Health[arn], err = p.targetGroups.HealthOrLast(ctx, arn); err != nil {
			return err
		}
		l.Groups, l.Tags[arn] = append(l.Groups, g), tags[arn]
	}
	return nil
}

// readGuards reads the web ACL and the shield of a load balancer.
func (p *Provider) readGuards(ctx context.Context, l *look.Look) {
	arn := aws.ToString(l.Balancer.LoadBalancerArn)
	acl, err := p.webACLs.Attached(ctx, arn)
	if err != nil {
		l.Unread = append(l.Unread, err.Error())
	}
	shield, err := p.protections.Attached(ctx, arn)
	if err != nil {
		l.Unread = append(l.Unread, err.Error())
	}
	l.Protection = lb.Protection{WebACL: acl, Shield: shield}
}

// toOther returns a load balancer of others in canonical form, with all settings besides the clients.
func (p *Provider) toOther(l *look.Look) *lb.Other {
	b := l.Balancer
	out := &lb.Other{Observed: *p.toObserved(l), Tags: l.Tags, Oddities: odditiesOf(l)}
	out.Read = &lb.ReadSettings{
		LoadBalancer: &routing.Settings{Scheme: string(b.Scheme), IPFamily: string(b.IpAddressType),
			Subnets: balancers.SubnetsIn(*b), Attributes: l.Attributes[out.Handle],
			SecurityGroups: slices.Sorted(slices.Values(b.SecurityGroups))},
		Listeners: map[int32]lb.ListenerSettings{}, TargetGroups: map[lb.GroupID]lb.GroupSettings{},
	}
	out.Usual = lb.ReadSettings{
		LoadBalancer: &routing.Settings{IPFamily: string(elb.IpAddressTypeIpv4),
			Attributes: lb.ALBDefaults(b.Scheme == elb.LoadBalancerSchemeEnumInternal)},
		Listeners: map[int32]lb.ListenerSettings{}, TargetGroups: map[lb.GroupID]lb.GroupSettings{},
	}
	for _, g := range l.Groups {
		group := p.targetGroups.ToObserved(l, g)
		out.TargetGroups = append(out.TargetGroups, group)
		out.Read.TargetGroups[group.ID] = lb.GroupSettings{HealthCheck: client.FromHealth(g),
			Attributes: l.Attributes[group.Handle]}
		out.Usual.TargetGroups[group.ID] = lb.GroupSettings{Attributes: look.TargetGroupDefaults}
	}
	slices.SortFunc(out.TargetGroups, func(a, b lb.ObservedTargetGroup) int { return cmp.Compare(a.ID, b.ID) })
	for _, listener := range l.Listeners {
		port := aws.ToInt32(listener.Port)
		out.Read.Listeners[port] = listeners.AllSettingsOf(l, listener)
		out.Usual.Listeners[port] = listeners.UsualSettings(listener.Protocol)
	}
	return out
}

// odditiesOf returns what is set and has no place in a canonical form.
func odditiesOf(l *look.Look) (out []lb.Oddity) {
	add := func(arn *string, what []string) {
		for _, text := range what {
			out = append(out, lb.Oddity{Handle: aws.ToString(arn), What: text})
		}
	}
	add(l.Balancer.LoadBalancerArn, client.LeftOut(*l.Balancer, "AvailabilityZones", "CanonicalHostedZoneId", "CreatedTime",
		"DNSName", "IpAddressType", "LoadBalancerArn", "LoadBalancerName", "Scheme", "SecurityGroups", "State", "Type", "VpcId"))
	for _, z := range l.Balancer.AvailabilityZones {
		add(l.Balancer.LoadBalancerArn, client.LeftOut(z, "SubnetId", "ZoneName"))
	}
	for _, listener := range l.Listeners {
		add(listener.ListenerArn, client.LeftOut(listener, "Certificates", "DefaultActions", "ListenerArn", "LoadBalancerArn",
			"MutualAuthentication", "Port", "Protocol", "SslPolicy"))
		if m := listener.MutualAuthentication; m != nil {
			known := []string{"AdvertiseTrustStoreCaNames", "IgnoreClientCertificateExpiry", "Mode", "TrustStoreArn"}
			if m.TrustStoreAssociationStatus == elb.TrustStoreAssociationStatusEnumActive {
				known = append(known, "TrustStoreAssociationStatus")
			}
			add(listener.ListenerArn, client.LeftOut(*m, known...))
		}
		add(listener.ListenerArn, client.OddInActions(listener.DefaultActions))
		for _, r := range l.Rules[aws.ToString(listener.ListenerArn)] {
			if !aws.ToBool(r.IsDefault) {
				add(r.RuleArn, client.OddInRule(r))
			}
		}
	}
	for _, g := range l.Groups {
		known := []string{"HealthCheckIntervalSeconds", "HealthCheckPath", "HealthCheckPort", "HealthCheckProtocol",
			"HealthCheckTimeoutSeconds", "HealthyThresholdCount", "IpAddressType", "LoadBalancerArns", "Matcher", "Port",
			"Protocol", "ProtocolVersion", "TargetGroupArn", "TargetGroupName", "TargetType", "UnhealthyThresholdCount", "VpcId"}
		if aws.ToBool(g.HealthCheckEnabled) {
			known = append(known, "HealthCheckEnabled")
		}
		add(g.TargetGroupArn, client.LeftOut(g, known...))
	}
	return out
}
