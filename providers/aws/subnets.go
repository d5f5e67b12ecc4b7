package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/providers"
)

// This file chooses the subnets that a load balancer stands in: one in each zone.

// The tags by which people say what subnets are for.
const (
	tagPublicRole  = "kubernetes.io/role/elb"
	tagPrivateRole = "kubernetes.io/role/internal-elb"
)

// leastFree is how many free addresses AWS asks of a subnet.
const leastFree = 8

// discover chooses subnets for a scheme: those with its role tag, else those that reach the internet,
// or do not.
func (p *Provider) discover(ctx context.Context, scheme string) ([]string, error) {
	subnets, err := p.subnetsOf(ctx)
	if err != nil {
		return nil, err
	}
	role, public := tagPrivateRole, scheme == "internet-facing"
	if public {
		role = tagPublicRole
	}
	chosen := onePerZone(subnets, func(s ec2types.Subnet) bool {
		return slices.ContainsFunc(s.Tags, func(t ec2types.Tag) bool {
			return aws.ToString(t.Key) == role && (aws.ToString(t.Value) == "" || aws.ToString(t.Value) == "1")
		})
	})
	if len(chosen) == 0 {
		open, err := p.reachable(ctx)
		if err != nil {
			return nil, err
		}
		chosen = onePerZone(subnets, func(s ec2types.Subnet) bool { return open(aws.ToString(s.SubnetId)) == public })
	}
	if len(chosen) < 2 {
		return nil, fmt.Errorf("choosing subnets of %s: %d zones have one that is tagged %s or fits, and that has %d free addresses; AWS asks for two zones: %w",
			p.vpc, len(chosen), role, leastFree, providers.ErrRejected)
	}
	return chosen, nil
}

// subnetsOf are the subnets of the VPC.
func (p *Provider) subnetsOf(ctx context.Context) ([]ec2types.Subnet, error) {
	var out []ec2types.Subnet
	pages := ec2.NewDescribeSubnetsPaginator(p.ec2, &ec2.DescribeSubnetsInput{Filters: p.inVPC()})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, explained("reading the subnets of "+p.vpc, err)
		}
		out = append(out, page.Subnets...)
	}
	return out, nil
}

func (p *Provider) inVPC() []ec2types.Filter {
	return []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{p.vpc}}}
}

// onePerZone are, of the subnets that fit, the one with the lowest ID in each zone, by zone.
func onePerZone(subnets []ec2types.Subnet, fits func(ec2types.Subnet) bool) []string {
	best := map[string]string{}
	for _, s := range subnets {
		zone, id := aws.ToString(s.AvailabilityZone), aws.ToString(s.SubnetId)
		if aws.ToInt32(s.AvailableIpAddressCount) >= leastFree && fits(s) && (best[zone] == "" || id < best[zone]) {
			best[zone] = id
		}
	}
	var out []string
	for _, zone := range sorted(best) {
		out = append(out, best[zone])
	}
	return out
}

// reachable tells which subnets route to the internet by themselves.
func (p *Provider) reachable(ctx context.Context) (func(subnet string) bool, error) {
	out, err := p.ec2.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: p.inVPC()})
	if err != nil {
		return nil, explained("reading the route tables of "+p.vpc, err)
	}
	byMain := false
	named := map[string]bool{}
	for _, table := range out.RouteTables {
		open := slices.ContainsFunc(table.Routes, func(r ec2types.Route) bool { return strings.HasPrefix(aws.ToString(r.GatewayId), "igw-") })
		for _, a := range table.Associations {
			if aws.ToBool(a.Main) {
				byMain = open
			}
			if a.SubnetId != nil {
				named[*a.SubnetId] = open
			}
		}
	}
	return func(subnet string) bool {
		if open, known := named[subnet]; known {
			return open
		}
		return byMain
	}, nil
}
