package network

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

// This file determines the zone of a target. AWS knows the zone of an address in a subnet of the
// VPC, and refuses the zone "all" for it; for any other address, "all" is required:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_TargetDescription.html,
// "You must specify a valid Availability Zone or select 'all' … since the IP address … is outside
// the VPC" (https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3084) and "The
// IP address … is within the VPC, and cannot have its Availability Zone overridden to 'all'" (issue
// 561 there). AWS compares with subnets, not with the ranges of the VPC (issue 3714 there).

// allZones stands for all zones of the load balancer.
const allZones = "all"

// DescribeTargets returns targets in the form of the SDK. If otherZones is true, each has the zone that
// the known subnets do not indicate.
func (v *Subnets) DescribeTargets(targets []lb.Target, otherZones bool) []elb.TargetDescription {
	known := v.list.Last()
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []elb.TargetDescription
	for _, t := range targets {
		d := elb.TargetDescription{Id: aws.String(t.Address), Port: aws.Int32(t.Port)}
		ip, err := netip.ParseAddr(t.Address)
		if err == nil && isOutside(ip, known) != v.misplaced[blockOf(ip)] != otherZones {
			d.AvailabilityZone = aws.String(allZones)
		}
		out = append(out, d)
	}
	return out
}

// isOutside reports whether no subnet has an address. It returns false if no subnets are known.
func isOutside(ip netip.Addr, subnets []ec2types.Subnet) bool {
	return len(subnets) > 0 && !slices.ContainsFunc(subnets, func(s ec2types.Subnet) bool {
		ranges := []string{aws.ToString(s.CidrBlock)}
		for _, a := range s.Ipv6CidrBlockAssociationSet {
			ranges = append(ranges, aws.ToString(a.Ipv6CidrBlock))
		}
		return slices.ContainsFunc(ranges, func(text string) bool {
			r, _ := netip.ParsePrefix(text) // a subnet without a range has no addresses
			return r.Contains(ip)
		})
	})
}

// Reread reads the subnets again, unless they were read a moment ago, and reports whether they have
// changed.
func (v *Subnets) Reread(ctx context.Context) (bool, error) {
	before := v.list.Last()
	after, err := v.ReadSince(ctx, time.Now().Add(-networkLife))
	if err != nil || reflect.DeepEqual(before, after) {
		return false, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.misplaced)
	return true, nil
}

// blockOf returns a block of addresses around an address, so small that a subnet has all of it or
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

// RecordMisplaced records that AWS places an address in the VPC although no readable subnet has it,
// or the other way round. An account that uses a shared VPC can read only the subnets that are
// shared with it.
func (v *Subnets) RecordMisplaced(address string) {
	ip := netip.MustParseAddr(address)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.misplaced[blockOf(ip)] = !v.misplaced[blockOf(ip)]
}
