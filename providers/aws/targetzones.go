package aws

import (
	"context"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
)

// This file says in which zone a target is. AWS knows that of an address in a subnet of the VPC,
// and refuses to be told that it is in all of them; of any other address it has to be told just
// that:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_TargetDescription.html,
// "You must specify a valid Availability Zone or select 'all' … since the IP address … is outside
// the VPC" (https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3084) and "The
// IP address … is within the VPC, and cannot have its Availability Zone overridden to 'all'" (issue
// 561 there). It compares with subnets, not with the ranges of the VPC (issue 3714 there).

// allZones is what stands for all zones of the load balancer.
const allZones = "all"

// described are targets as AWS is told of them; moved, in the zone that is not theirs as far as is
// known.
func (p *Provider) described(targets []lb.Target, moved bool) []elb.TargetDescription {
	subnets := p.subnets.last()
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []elb.TargetDescription
	for _, t := range targets {
		d := elb.TargetDescription{Id: aws.String(t.Address), Port: aws.Int32(t.Port)}
		if ip, err := netip.ParseAddr(t.Address); err == nil && outside(ip, subnets) != p.misplaced[blockOf(ip)] != moved {
			d.AvailabilityZone = aws.String(allZones)
		}
		out = append(out, d)
	}
	return out
}

// outside reports whether an address is in none of some subnets. Where none are known, it is taken
// for inside.
func outside(ip netip.Addr, subnets []ec2types.Subnet) bool {
	return len(subnets) > 0 && !slices.ContainsFunc(subnets, func(s ec2types.Subnet) bool {
		ranges := []string{aws.ToString(s.CidrBlock)}
		for _, a := range s.Ipv6CidrBlockAssociationSet {
			ranges = append(ranges, aws.ToString(a.Ipv6CidrBlock))
		}
		return slices.ContainsFunc(ranges, func(text string) bool {
			r, err := netip.ParsePrefix(text)
			return err == nil && r.Contains(ip)
		})
	})
}

// subnetsChanged reads the subnets, unless that was a moment ago, and reports whether they are
// others than before.
func (p *Provider) subnetsChanged(ctx context.Context) (bool, error) {
	before := p.subnets.last()
	after, err := p.subnetsOf(ctx, time.Now().Add(-networkLife))
	if err != nil || reflect.DeepEqual(before, after) {
		return false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.misplaced)
	return true, nil
}

// blockOf is the block of addresses that an address is in, so small that a subnet has all of it or
// nothing: "The allowed IPv4 CIDR block size for a subnet is between a /28 netmask and /16
// netmask", those of IPv6 "are between /44 and /64"
// (https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html).
func blockOf(ip netip.Addr) netip.Prefix {
	bits := 28
	if ip.Is6() {
		bits = 64
	}
	block, _ := ip.Prefix(bits) // both fit
	return block
}

// misplace notes that AWS takes an address for inside where none of the subnets that can be read
// has it, or the other way round. Those who share a VPC see the subnets that are shared with them.
func (p *Provider) misplace(address string) {
	ip := netip.MustParseAddr(address)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.misplaced[blockOf(ip)] = !p.misplaced[blockOf(ip)]
}
