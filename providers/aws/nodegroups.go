package aws

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file lets load balancers reach their targets: the security groups of the cluster's nodes
// admit, on the ports that targets really have, what comes from the group that all load balancers
// share.

// tagCluster is the tag by which the security groups of a cluster's nodes are found, before its
// name.
const tagCluster = "kubernetes.io/cluster/"

func (p *Provider) sharedName() string { return name("shared", p.installation, p.vpc) }

// sharedGroup is the security group that all load balancers have, for one of them. It is there
// until the last of them goes; meanwhile those who come have to wait.
func (p *Provider) sharedGroup(ctx context.Context, key lb.Key) (string, error) {
	p.mu.Lock()
	known, leaving := p.shared, p.leaving
	if !leaving {
		p.fenced[key] = true
	}
	p.mu.Unlock()
	switch {
	case leaving:
		return "", fmt.Errorf("security group %s is being deleted: %w", p.sharedName(), providers.ErrPending)
	case known != "":
		return known, nil
	}
	found, err, _ := p.looks.Do("shared", func() (any, error) {
		if known := p.knownGroup(); known != "" {
			return known, nil
		}
		id, err := p.securityGroups.idOf(ctx, p.sharedName())
		if err == nil && id == "" {
			id, err = p.securityGroups.ensure(ctx, p.sharedName(), "Where the load balancers of Fairlead come from", "", map[string]string{tagInstallation: p.installation})
		}
		if err == nil {
			p.mu.Lock()
			p.shared = id
			p.mu.Unlock()
		}
		return id, err
	})
	if err != nil {
		return "", err
	}
	return found.(string), nil
}

func (p *Provider) knownGroup() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shared
}

// nodeGroups are the security groups of the cluster's nodes.
func (p *Provider) nodeGroups(ctx context.Context) ([]ec2types.SecurityGroup, error) {
	found, err := p.securityGroups.describe(ctx, &ec2.DescribeSecurityGroupsInput{Filters: append(inVPC(p.vpc),
		ec2types.Filter{Name: aws.String("tag-key"), Values: []string{tagCluster + p.cluster}},
	)})
	return slices.DeleteFunc(found, func(g ec2types.SecurityGroup) bool { return tagged(g.Tags, tagInstallation, p.installation) }), err
}

// reach makes sure that a load balancer can reach targets on some ports. Ports that are known to be
// open cost no call, and those who ask for the same ones at once share it.
func (p *Provider) reach(ctx context.Context, key lb.Key, ports []int32) error {
	if p.unfenced || p.cluster == "" || len(ports) == 0 {
		return nil
	}
	shared, err := p.sharedGroup(ctx, key)
	if err != nil {
		return err
	}
	closed, err := p.unreached(ports)
	if err != nil || len(closed) == 0 {
		return err
	}
	_, err, _ = p.looks.Do(fmt.Sprint("ports", closed), func() (any, error) {
		if still, err := p.unreached(closed); err != nil || len(still) == 0 { // opened just now
			return nil, err
		}
		if err := p.openNodes(ctx, shared, closed); err != nil {
			return nil, err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, port := range closed {
			p.ports.open[port] = true
		}
		return nil, nil
	})
	return err
}

// unreached are the ports that are not known to be open. One that is being shut has to be waited
// for.
func (p *Provider) unreached(ports []int32) ([]int32, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.IndexFunc(ports, func(port int32) bool { return p.ports.shutting[port] }); at >= 0 {
		return nil, fmt.Errorf("port %d of the nodes is being shut: %w", ports[at], providers.ErrPending)
	}
	return slices.Compact(slices.DeleteFunc(slices.Sorted(slices.Values(ports)), func(port int32) bool { return p.ports.open[port] })), nil
}

// openNodes has the nodes admit a security group on some ports.
func (p *Provider) openNodes(ctx context.Context, shared string, ports []int32) error {
	if soon := p.recent.early("AuthorizeSecurityGroupIngress", shared); soon != nil {
		return explained("admitting security group "+shared+" to the nodes", soon)
	}
	over, err := p.changeNodes(ctx)
	if err != nil {
		return err
	}
	defer over()
	groups, err := p.nodeGroups(ctx)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if err := p.securityGroups.openPorts(ctx, g, shared, ports); err != nil {
			return err
		}
	}
	return nil
}

// forgetReached has ports looked at again before the next targets are registered.
func (p *Provider) forgetReached() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.ports.open)
}

// leaveNodes shuts the ports of targets again and deletes the shared group, once the load balancer
// of a firewall was the last one that had it. One that is being made is known here; the others are
// read from Elastic Load Balancing itself.
func (p *Provider) leaveNodes(ctx context.Context, key lb.Key, firewall string) error {
	p.mu.Lock()
	delete(p.fenced, key)
	stay := p.leaving || len(p.fenced) > 0
	shared := p.shared
	if !stay {
		p.leaving, p.shared = true, ""
		clear(p.ports.open)
	}
	p.mu.Unlock()
	if stay {
		return nil
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.leaving = false
	}()
	if shared == "" {
		var err error
		if shared, err = p.securityGroups.idOf(ctx, p.sharedName()); err != nil || shared == "" {
			return err
		}
	}
	if used, err := p.hasOthers(ctx, shared, firewall); err != nil || used {
		return err
	}
	groups := []ec2types.SecurityGroup{}
	if p.cluster != "" {
		var err error
		if groups, err = p.nodeGroups(ctx); err != nil {
			return err
		}
	}
	for _, g := range groups {
		if err := p.securityGroups.revokeSpans(ctx, aws.ToString(g.GroupId), shared, spansFrom(g, shared)); err != nil {
			return err
		}
	}
	return p.securityGroups.delete(ctx, shared)
}

// hasOthers reports whether a load balancer has the shared group, besides the one with a firewall.
// The index of tags is not asked: it may lack a load balancer that was made a while ago, whose
// targets would be cut off.
func (p *Provider) hasOthers(ctx context.Context, shared, firewall string) (bool, error) {
	pages := elbapi.NewDescribeLoadBalancersPaginator(p.elb, &elbapi.DescribeLoadBalancersInput{PageSize: aws.Int32(400)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return false, explained("reading which load balancers have security group "+shared, err)
		}
		for _, b := range page.LoadBalancers {
			if slices.Contains(b.SecurityGroups, shared) && !slices.Contains(b.SecurityGroups, firewall) {
				return true, nil
			}
		}
	}
	return false, nil
}

// portsOf are the ports of target groups that load balancers have to reach.
func portsOf(groups []lb.TargetGroup) []int32 {
	var out []int32
	for _, g := range groups {
		out = append(out, checkPort(g.Health)...)
		for _, t := range g.Targets {
			out = append(out, t.Port)
		}
	}
	return out
}

// checkPort is the port that health checks go to, where it is not the one of the target.
func checkPort(h routing.HealthCheck) []int32 {
	var port int32
	if _, err := fmt.Sscanf(h.Port, "%d", &port); err != nil {
		return nil
	}
	return []int32{port}
}
