// Package network chooses subnets, and keeps the security groups of load balancers and of nodes.
package network

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/cache"
)

// This file chooses the subnets of a load balancer: those that its class names, or one in each
// availability zone.

// The tags that say for which load balancers subnets are.
const (
	TagPublicRole  = "kubernetes.io/role/elb"
	TagPrivateRole = "kubernetes.io/role/internal-elb"
)

// networkLife is how long subnets and route tables are used that were read for another load
// balancer.
const networkLife = time.Minute

// LeastFree is how many free addresses AWS requires of a subnet.
const LeastFree = 8

// Subnets keeps the subnets of the VPC that were read last, and their route tables.
type Subnets struct {
	ec2         *ec2.Client
	vpc, region string

	list   cache.Value[[]ec2types.Subnet]
	tables cache.Value[[]ec2types.RouteTable]

	mu sync.Mutex
	// misplaced holds the blocks of addresses that AWS takes for addresses of the VPC where no subnet
	// that can be read has them, or the other way round.
	misplaced map[netip.Prefix]bool
}

// NewSubnets returns the subnets of a VPC, none of which are read yet.
func NewSubnets(api *ec2.Client, vpc, region string) *Subnets {
	return &Subnets{ec2: api, vpc: vpc, region: region, misplaced: map[netip.Prefix]bool{}}
}

// Choose chooses subnets. Those that the load balancer is in stay, as long as they fit. A reading
// of a moment ago is recent enough to find some, and not to say that there are none.
func (v *Subnets) Choose(ctx context.Context, n lb.Network, standing []string) ([]string, error) {
	chosen, _, err := v.Explain(ctx, n, standing)
	return chosen, err
}

// Explain chooses subnets as Choose does, and returns what each of them has in common.
func (v *Subnets) Explain(
	ctx context.Context, n lb.Network, standing []string,
) (chosen []string, reason string, err error) {
	now := time.Now()
	chosen, reason, err = v.chooseSince(ctx, now.Add(-networkLife), n, standing)
	if errors.Is(err, providers.ErrRejected) {
		return v.chooseSince(ctx, now, n, standing)
	}
	return chosen, reason, err
}

// chooseSince chooses among the subnets that existed at a time, or later.
func (v *Subnets) chooseSince(
	ctx context.Context, when time.Time, n lb.Network, standing []string,
) (chosen []string, reason string, err error) {
	subnets, err := v.Since(ctx, when)
	if err != nil {
		return nil, "", err
	}
	if len(n.Subnets) > 0 {
		chosen, err = v.byName(n.Subnets, subnets)
		return chosen, "is named by the class", err
	}
	subnets = v.ofOneKind(n, subnets)
	fits, reason, err := v.fitting(ctx, when, n, subnets)
	if err != nil {
		return nil, "", err
	}
	unfit := func(id string) bool {
		return !slices.ContainsFunc(subnets, func(s ec2types.Subnet) bool {
			return aws.ToString(s.SubnetId) == id && fits(s)
		})
	}
	if len(standing) > 1 && !slices.ContainsFunc(standing, unfit) {
		return standing, reason, nil
	}
	chosen = onePerZone(subnets, standing, fits)
	if len(chosen) < 2 {
		return nil, "", fmt.Errorf("choosing subnets of %s: %d availability zones have one that %s, "+
			"and that has %d free addresses; "+
			"AWS asks for two; those of Local Zones, Wavelength Zones and Outposts have to be named by "+
			"the class: %w",
			v.vpc, len(chosen), reason, LeastFree, providers.ErrRejected)
	}
	return chosen, reason, nil
}

// ofOneKind returns the subnets to choose from: those in availability zones, unless only others
// have the tags of the class.
func (v *Subnets) ofOneKind(n lb.Network, subnets []ec2types.Subnet) []ec2types.Subnet {
	out := slices.DeleteFunc(slices.Clone(subnets), func(s ec2types.Subnet) bool {
		return !v.regional(s)
	})
	if fits := hasTags(n.SubnetTags); len(n.SubnetTags) > 0 && !slices.ContainsFunc(out, fits) {
		return slices.DeleteFunc(slices.Clone(subnets), func(s ec2types.Subnet) bool {
			return v.regional(s)
		})
	}
	return out
}

// hasTags returns a function that reports whether a subnet has all of some tags.
func hasTags(tags map[string]string) func(ec2types.Subnet) bool {
	return func(s ec2types.Subnet) bool {
		return !slices.ContainsFunc(slices.Sorted(maps.Keys(tags)), func(key string) bool {
			return !tagged(s.Tags, key, tags[key])
		})
	}
}

// regional reports whether a subnet is in an availability zone of the region, and not in a Local
// Zone, in a Wavelength Zone or on an Outpost: "the zones must be of the same type"
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/application-load-balancers.html).
// "The code for an Availability Zone is its Region code followed by a letter identifier"
// (https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-availability-zones.html);
// those of Local Zones and Wavelength Zones have a location in between, as us-west-2-lax-1a and
// us-east-1-wl1-bos-wlz-1
// (https://docs.aws.amazon.com/local-zones/latest/ug/available-local-zones.html). So no call is
// needed.
func (v *Subnets) regional(s ec2types.Subnet) bool {
	letter := strings.TrimPrefix(aws.ToString(s.AvailabilityZone), v.region)
	return s.OutpostArn == nil && (v.region == "" || len(letter) == 1)
}

// byName returns the IDs of subnets that are given by ID or name.
func (v *Subnets) byName(names []string, subnets []ec2types.Subnet) ([]string, error) {
	var out []string
	for _, name := range names {
		at := slices.IndexFunc(subnets, func(s ec2types.Subnet) bool {
			return aws.ToString(s.SubnetId) == name || tagged(s.Tags, "Name", name)
		})
		if at < 0 {
			return nil, fmt.Errorf("choosing subnets of %s: none has the ID or the name %s: %w", v.vpc, name,
				providers.ErrRejected)
		}
		out = append(out, aws.ToString(subnets[at].SubnetId))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// fitting returns which subnets fit, and the reason: the tags of the class, else the role tag of
// the scheme, else whether they have a route to the internet, where some have and others have not.
func (v *Subnets) fitting(
	ctx context.Context, when time.Time, n lb.Network, subnets []ec2types.Subnet,
) (fits func(ec2types.Subnet) bool, reason string, err error) {
	if len(n.SubnetTags) > 0 {
		return hasTags(n.SubnetTags), "has the tags of the class", nil
	}
	role, public := TagPrivateRole, n.Scheme == "internet-facing"
	if public {
		role = TagPublicRole
	}
	fits = func(s ec2types.Subnet) bool {
		return slices.ContainsFunc(s.Tags, func(t ec2types.Tag) bool {
			value := aws.ToString(t.Value)
			return aws.ToString(t.Key) == role && (value == "" || value == "1")
		})
	}
	if slices.ContainsFunc(subnets, fits) {
		return fits, "is tagged " + role, nil
	}
	open, err := v.Public(ctx, when)
	if err != nil {
		return nil, "", err
	}
	fits = func(s ec2types.Subnet) bool { return open(aws.ToString(s.SubnetId)) == public }
	if !slices.ContainsFunc(subnets, fits) {
		// An internal load balancer can be in public subnets, and where none has a route to the internet,
		// AWS says so itself.
		return func(ec2types.Subnet) bool { return true }, "is in the VPC", nil
	}
	reason = "is tagged " + role + " or has no route to an internet gateway"
	if public {
		reason = "is tagged " + role + " or has a route to an internet gateway"
	}
	return fits, reason, nil
}

// tagged reports whether tags have a key with a value. An empty value stands for any.
func tagged(tags []ec2types.Tag, key, value string) bool {
	return slices.ContainsFunc(tags, func(t ec2types.Tag) bool {
		return aws.ToString(t.Key) == key && (value == "" || aws.ToString(t.Value) == value)
	})
}

// Since returns the subnets that the VPC had at a time, or later.
func (v *Subnets) Since(ctx context.Context, when time.Time) ([]ec2types.Subnet, error) {
	return v.list.Since(when, func() ([]ec2types.Subnet, error) {
		var out []ec2types.Subnet
		pages := ec2.NewDescribeSubnetsPaginator(v.ec2, &ec2.DescribeSubnetsInput{Filters: InVPC(v.vpc)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, awserr.Explain("reading the subnets of "+v.vpc, err)
			}
			out = append(out, page.Subnets...)
		}
		return out, nil
	})
}

// InVPC returns the filter for resources of a VPC.
func InVPC(vpc string) []ec2types.Filter {
	return []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{vpc}}}
}

// onePerZone returns one of the subnets that fit in each zone: the one that the load balancer is
// in, else the one with the lowest ID.
func onePerZone(subnets []ec2types.Subnet, standing []string,
	fits func(ec2types.Subnet) bool) []string {
	best := map[string]string{}
	for _, s := range subnets {
		zone, id := aws.ToString(s.AvailabilityZone), aws.ToString(s.SubnetId)
		stands := slices.Contains(standing, id)
		switch {
		case !fits(s), !stands && aws.ToInt32(s.AvailableIpAddressCount) < LeastFree:
		case stands, best[zone] == "":
			best[zone] = id
		case !slices.Contains(standing, best[zone]):
			best[zone] = min(best[zone], id)
		}
	}
	return slices.Sorted(maps.Values(best))
}

// Public returns a function that reports whether a subnet has a route to an internet gateway.
func (v *Subnets) Public(ctx context.Context, when time.Time) (func(subnet string) bool, error) {
	tables, err := v.tables.Since(when, func() ([]ec2types.RouteTable, error) {
		var out []ec2types.RouteTable
		pages := ec2.NewDescribeRouteTablesPaginator(v.ec2, &ec2.DescribeRouteTablesInput{
			Filters: InVPC(v.vpc),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, awserr.Explain("reading the route tables of "+v.vpc, err)
			}
			out = append(out, page.RouteTables...)
		}
		return out, nil
	})
	if err != nil {
		return nil, err
	}
	byMain := false
	named := map[string]bool{}
	for _, table := range tables {
		open := slices.ContainsFunc(table.Routes, func(r ec2types.Route) bool {
			return strings.HasPrefix(aws.ToString(r.GatewayId), "igw-")
		})
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
