package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file has load balancers that others made admitted to their targets before they are taken over: the controller closes
// the nodes to its own security group for those that it no longer serves (pkg/networking/networking_manager.go of the AWS
// Load Balancer Controller).

// Admit gives a load balancer the shared group besides those that it has, and opens ports of the nodes to it.
func (f *Firewalls) Admit(ctx context.Context, key lb.Key, arn string, ports []int32) error {
	if f.unmanaged {
		return nil
	}
	b, err := f.readBalancer(ctx, arn)
	if err != nil {
		return err
	}
	most, err := f.security.mostParts(ctx)
	if err != nil {
		return err
	}
	if most++; len(b.SecurityGroups) >= most && !slices.Contains(b.SecurityGroups, f.nodes.knownGroup()) {
		shared, err := f.security.readID(ctx, f.nodes.sharedName())
		if err != nil {
			return err
		}
		if !slices.Contains(b.SecurityGroups, shared) {
			return fmt.Errorf("load balancer %s has %d security groups, and AWS permits %d for a network interface: it needs "+
				"one more, by which the nodes admit it; take one from it, or have the quota %q raised: %w",
				arn, len(b.SecurityGroups), most, "Security groups per network interface", providers.ErrRejected)
		}
	}
	shared, err := f.nodes.sharedGroup(ctx, key)
	if err != nil {
		return err
	}
	if err := f.nodes.OpenPorts(ctx, key, ports); err != nil {
		return err
	}
	if slices.Contains(b.SecurityGroups, shared) {
		return nil
	}
	return f.attachTo(arn)(ctx, besides(b.SecurityGroups, []string{shared}))
}

// Dismiss undoes Admit, if the nodes admit the other security groups of the load balancer on the same ports: if not, the
// controller takes the shared group from it once it has opened them, and left names that group. With the last load
// balancer, the shared group goes.
// firewall is the security group that was taken over with the load balancer; "" if it is not known, or given back already.
// With one, the load balancer has the shared group, even if a read that lags does not say so.
func (f *Firewalls) Dismiss(ctx context.Context, key lb.Key, arn, firewall string, ports []int32) (left string, err error) {
	if f.unmanaged {
		return "", nil
	}
	shared, err := f.security.readID(ctx, f.nodes.sharedName())
	if err == nil && shared == "" && firewall != "" {
		err = fmt.Errorf("AWS does not list security group %s, which %s has: %w", f.nodes.sharedName(), arn, providers.ErrPending)
	}
	if err != nil || shared == "" {
		return "", err
	}
	b, err := f.readShared(ctx, arn, shared, firewall != "")
	if client.HasCode(err, "LoadBalancerNotFound") {
		b, err = &elb.LoadBalancer{}, nil
	}
	if err != nil {
		return "", err
	}
	if slices.Contains(b.SecurityGroups, shared) {
		rest := slices.DeleteFunc(slices.Clone(b.SecurityGroups), func(id string) bool { return id == shared })
		if enough, err := f.nodes.admitAlso(ctx, shared, rest, ports); err != nil || !enough {
			return f.nodes.sharedName(), err
		}
		if err := f.attachTo(arn)(ctx, rest); err != nil {
			return "", err
		}
	}
	f.forgetGroups(key)
	for end := time.Now().Add(detachPatience); ; {
		err := f.nodes.removeFirewall(ctx, key, firewall)
		if !errors.Is(err, providers.ErrPending) || time.Now().After(end) {
			return "", err
		}
		if err := client.Pause(ctx, detachPause); err != nil {
			return "", err
		}
	}
}

// readShared reads a load balancer. If it is expected to have the shared group, it reads it again for a while until it has.
func (f *Firewalls) readShared(ctx context.Context, arn, shared string, expected bool) (*elb.LoadBalancer, error) {
	for end := time.Now().Add(detachPatience); ; {
		b, err := f.readBalancer(ctx, arn)
		if err != nil || !expected || slices.Contains(b.SecurityGroups, shared) || time.Now().After(end) {
			return b, err
		}
		if err := client.Pause(ctx, detachPause); err != nil {
			return nil, err
		}
	}
}

// Load balancers use a security group for some seconds after it was taken from them.
const (
	detachPause    = 2 * time.Second
	detachPatience = 20 * time.Second
)

// admitAlso reports whether the nodes admit one of others on each of some ports on which they admit a security group.
func (n *Nodes) admitAlso(ctx context.Context, one string, others []string, ports []int32) (bool, error) {
	if n.cluster == "" {
		return true, nil
	}
	groups, err := n.security.ReadOfCluster(ctx, n.cluster)
	if err != nil {
		return false, err
	}
	for _, g := range groups {
		for _, port := range ports {
			has := func(s span) bool { return s.has(port) }
			admits := func(source string) bool {
				return slices.ContainsFunc(spansFrom(g, source), has) || admitsAll(g, source)
			}
			if slices.ContainsFunc(spansFrom(g, one), has) && !slices.ContainsFunc(others, admits) {
				return false, nil
			}
		}
	}
	return true, nil
}

// admitsAll reports whether a security group admits another one on all ports of all protocols.
func admitsAll(g ec2types.SecurityGroup, source string) bool {
	return slices.ContainsFunc(g.IpPermissions, func(p ec2types.IpPermission) bool {
		return aws.ToString(p.IpProtocol) == "-1" && slices.ContainsFunc(p.UserIdGroupPairs,
			func(u ec2types.UserIdGroupPair) bool { return aws.ToString(u.GroupId) == source })
	})
}

// Release takes security groups of others from a load balancer that kept them.
func (f *Firewalls) Release(ctx context.Context, key lb.Key, b elb.LoadBalancer, kept []string) error {
	f.mu.Lock()
	f.taken[key] = taken{name: f.taken[key].name}
	f.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(b.SecurityGroups), func(id string) bool { return slices.Contains(kept, id) })
	if len(rest) == len(b.SecurityGroups) || len(rest) == 0 {
		return nil
	}
	return f.attachTo(aws.ToString(b.LoadBalancerArn))(ctx, rest)
}

// readBalancer reads a load balancer.
func (f *Firewalls) readBalancer(ctx context.Context, arn string) (*elb.LoadBalancer, error) {
	out, err := f.elb.DescribeLoadBalancers(ctx, &elbapi.DescribeLoadBalancersInput{LoadBalancerArns: []string{arn}})
	if err != nil {
		return nil, client.Explain("reading load balancer "+arn, err)
	}
	return client.RequireOne(out.LoadBalancers, "DescribeLoadBalancers", "load balancer "+arn)
}
