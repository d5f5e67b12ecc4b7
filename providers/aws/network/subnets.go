// Package network chooses subnets, and manages the security groups of load balancers and of nodes.
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
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file chooses the subnets of a load balancer: the subnets that its class names, or one in
// each availability zone.

// The tags that assign subnets to public and internal load balancers.
const (
	TagPublicRole  = "kubernetes.io/role/elb"
	TagPrivateRole = "kubernetes.io/role/internal-elb"
)

// networkLife is the time for which subnets and route tables are used for further load balancers.
const networkLife = time.Minute

// LeastFree is the number of free addresses that AWS requires in a subnet.
const LeastFree = 8

// Subnets caches the subnets of the VPC and their route tables.
type Subnets struct {
	ec2         *ec2.Client
	vpc, region string

	list   client.Cached[[]ec2types.Subnet]
	tables client.Cached[[]ec2types.RouteTable]

	mu sync.Mutex
	// misplaced holds the blocks of addresses that AWS places in the VPC although no readable subnet
	// has them, or the other way round.
	misplaced map[netip.Prefix]bool
	// unsupported has the zones in which AWS has refused a load balancer.
	unsupported map[string]bool
}

// NewSubnets returns the Subnets of a VPC. It reads nothing.
func NewSubnets(api *ec2.Client, vpc, region string) *Subnets {
	return &Subnets{ec2: api, vpc: vpc, region: region, misplaced: map[netip.Prefix]bool{},
		unsupported: map[string]bool{}}
}

// Choose chooses subnets. It keeps the load balancer's current subnets if they fit. It uses recent
// reads to find subnets, and reads again before it reports that there are none.
func (v *Subnets) Choose(ctx context.Context, n lb.Network, current []string) ([]string, error) {
	chosen, _, err := v.Explain(ctx, n, current)
	return chosen, err
}

// Explain chooses subnets as Choose does, and returns the reason in words.
func (v *Subnets) Explain(
	ctx context.Context, n lb.Network, current []string,
) (chosen []string, reason string, err error) {
	now := time.Now()
	chosen, reason, err = v.chooseSince(ctx, now.Add(-networkLife), n, current)
	if errors.Is(err, providers.ErrRejected) {
		return v.chooseSince(ctx, now, n, current)
	}
	return chosen, reason, err
}

// chooseSince chooses subnets with data that was read at a time, or later.
func (v *Subnets) chooseSince(
	ctx context.Context, when time.Time, n lb.Network, current []string,
) (chosen []string, reason string, err error) {
	subnets, err := v.ReadSince(ctx, when)
	if err != nil {
		return nil, "", err
	}
	if len(n.Subnets) > 0 {
		chosen, err = v.findIDs(n.Subnets, subnets)
		return chosen, "is named by the class", err
	}
	subnets = v.selectKind(n, subnets)
	fits, reason, err := v.chooseFilter(ctx, when, n, subnets)
	if err != nil {
		return nil, "", err
	}
	if n.IPFamily != "" && n.IPFamily != string(elb.IpAddressTypeIpv4) {
		of := fits
		fits = func(s ec2types.Subnet) bool { return of(s) && hasIPv6(s) }
		reason += " and has an associated IPv6 CIDR"
	}
	unfit := func(id string) bool {
		return !slices.ContainsFunc(subnets, func(s ec2types.Subnet) bool {
			return aws.ToString(s.SubnetId) == id && fits(s)
		})
	}
	if len(current) > 1 && !slices.ContainsFunc(current, unfit) {
		return current, reason, nil
	}
	chosen = pickPerZone(v.withoutUnsupported(subnets, fits), current, fits)
	if len(chosen) < 2 {
		return nil, "", fmt.Errorf("choosing subnets of %s: %d availability zones have one that %s, "+
			"and that has %d free addresses; "+
			"AWS asks for two; those of Local Zones, Wavelength Zones and Outposts have to be named by "+
			"the class: %w",
			v.vpc, len(chosen), reason, LeastFree, providers.ErrRejected)
	}
	return chosen, reason, nil
}

// hasIPv6 reports whether a subnet has an associated range of IPv6 addresses, as all subnets of a
// load balancer with IPv6 addresses must: "You must specify subnets with an associated IPv6 CIDR
// block" (https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4852).
func hasIPv6(s ec2types.Subnet) bool {
	return slices.ContainsFunc(s.Ipv6CidrBlockAssociationSet,
		func(a ec2types.SubnetIpv6CidrBlockAssociation) bool {
			return a.Ipv6CidrBlockState == nil ||
				a.Ipv6CidrBlockState.State == ec2types.SubnetCidrBlockStateCodeAssociated
		})
}

// MarkUnsupported records the zones of those subnets that AWS names as unsupported for load
// balancers (https://github.com/widdix/mastodon-on-aws/issues/13 has one). It returns those that
// were not known.
func (v *Subnets) MarkUnsupported(chosen []string, message string) []string {
	subnets := v.list.Last()
	v.mu.Lock()
	defer v.mu.Unlock()
	var zones []string
	for _, s := range subnets {
		id, zone := aws.ToString(s.SubnetId), aws.ToString(s.AvailabilityZone)
		if slices.Contains(chosen, id) && zone != "" && !v.unsupported[zone] &&
			(strings.Contains(message, id) || strings.Contains(message, zone)) {
			v.unsupported[zone] = true
			zones = append(zones, zone)
		}
	}
	return zones
}

// withoutUnsupported returns the subnets in zones that AWS supports, if two zones remain.
func (v *Subnets) withoutUnsupported(
	subnets []ec2types.Subnet, fits func(ec2types.Subnet) bool,
) []ec2types.Subnet {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := slices.DeleteFunc(slices.Clone(subnets), func(s ec2types.Subnet) bool {
		return v.unsupported[aws.ToString(s.AvailabilityZone)]
	})
	if len(pickPerZone(out, nil, fits)) < 2 {
		return subnets
	}
	return out
}

// selectKind returns the subnets to choose from: subnets in availability zones, unless only others
// have the tags of the class.
func (v *Subnets) selectKind(n lb.Network, subnets []ec2types.Subnet) []ec2types.Subnet {
	out := slices.DeleteFunc(slices.Clone(subnets), func(s ec2types.Subnet) bool {
		return !v.isRegional(s)
	})
	if fits := hasTags(n.SubnetTags); len(n.SubnetTags) > 0 && !slices.ContainsFunc(out, fits) {
		return slices.DeleteFunc(slices.Clone(subnets), func(s ec2types.Subnet) bool {
			return v.isRegional(s)
		})
	}
	return out
}

// hasTags returns a function that reports whether a subnet has all of some tags.
func hasTags(tags map[string]string) func(ec2types.Subnet) bool {
	return func(s ec2types.Subnet) bool {
		return !slices.ContainsFunc(slices.Sorted(maps.Keys(tags)), func(key string) bool {
			return !hasTag(s.Tags, key, tags[key])
		})
	}
}

// isRegional reports whether a subnet is in an availability zone of the region, not in a Local
// Zone, a Wavelength Zone or an Outpost: "the zones must be of the same type"
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/application-load-balancers.html).
// "The code for an Availability Zone is its Region code followed by a letter identifier"
// (https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-availability-zones.html);
// those of Local Zones and Wavelength Zones have a location in between, as us-west-2-lax-1a and
// us-east-1-wl1-bos-wlz-1
// (https://docs.aws.amazon.com/local-zones/latest/ug/available-local-zones.html). So no call is
// needed.
func (v *Subnets) isRegional(s ec2types.Subnet) bool {
	letter := strings.TrimPrefix(aws.ToString(s.AvailabilityZone), v.region)
	return s.OutpostArn == nil && (v.region == "" || len(letter) == 1)
}

// findIDs returns the IDs of subnets. Each is given by ID or name.
func (v *Subnets) findIDs(names []string, subnets []ec2types.Subnet) ([]string, error) {
	var out []string
	for _, name := range names {
		at := slices.IndexFunc(subnets, func(s ec2types.Subnet) bool {
			return aws.ToString(s.SubnetId) == name || hasTag(s.Tags, "Name", name)
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

// chooseFilter returns a filter for subnets, and its description. It filters by the tags of the
// class, else by the role tag of the scheme, else by a route to the internet, if some subnets have
// one and others do not.
func (v *Subnets) chooseFilter(
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
	open, err := v.FindPublic(ctx, when)
	if err != nil {
		return nil, "", err
	}
	fits = func(s ec2types.Subnet) bool { return open(aws.ToString(s.SubnetId)) == public }
	if !slices.ContainsFunc(subnets, fits) {
		// An internal load balancer can be in public subnets. If no subnet has a route to the internet,
		// AWS reports that itself.
		return func(ec2types.Subnet) bool { return true }, "is in the VPC", nil
	}
	reason = "is tagged " + role + " or has no route to an internet gateway"
	if public {
		reason = "is tagged " + role + " or has a route to an internet gateway"
	}
	return fits, reason, nil
}

// hasTag reports whether tags have a key with a value; "" is any value.
func hasTag(tags []ec2types.Tag, key, value string) bool {
	return slices.ContainsFunc(tags, func(t ec2types.Tag) bool {
		return aws.ToString(t.Key) == key && (value == "" || aws.ToString(t.Value) == value)
	})
}

// ReadSince returns the subnets of the VPC, read at a time, or later.
func (v *Subnets) ReadSince(ctx context.Context, when time.Time) ([]ec2types.Subnet, error) {
	return v.list.ReadSince(when, func() ([]ec2types.Subnet, error) {
		var out []ec2types.Subnet
		pages := ec2.NewDescribeSubnetsPaginator(v.ec2, &ec2.DescribeSubnetsInput{
			Filters: VPCFilter(v.vpc),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, client.Explain("reading the subnets of "+v.vpc, err)
			}
			out = append(out, page.Subnets...)
		}
		return out, nil
	})
}

// VPCFilter returns the EC2 filter for resources of a VPC.
func VPCFilter(vpc string) []ec2types.Filter {
	return []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{vpc}}}
}

// pickPerZone returns one fitting subnet of each zone: the load balancer's current one, else the
// one with the lowest ID.
func pickPerZone(subnets []ec2types.Subnet, current []string,
	fits func(ec2types.Subnet) bool) []string {
	best := map[string]string{}
	for _, s := range subnets {
		zone, id := aws.ToString(s.AvailabilityZone), aws.ToString(s.SubnetId)
		stands := slices.Contains(current, id)
		switch {
		case !fits(s), !stands && aws.ToInt32(s.AvailableIpAddressCount) < LeastFree:
		case stands, best[zone] == "":
			best[zone] = id
		case !slices.Contains(current, best[zone]):
			best[zone] = min(best[zone], id)
		}
	}
	return slices.Sorted(maps.Values(best))
}

// FindPublic reads the route tables, and returns a function that reports whether a subnet has a
// route to an internet gateway.
func (v *Subnets) FindPublic(
	ctx context.Context, when time.Time,
) (func(subnet string) bool, error) {
	tables, err := v.tables.ReadSince(when, func() ([]ec2types.RouteTable, error) {
		var out []ec2types.RouteTable
		pages := ec2.NewDescribeRouteTablesPaginator(v.ec2, &ec2.DescribeRouteTablesInput{
			Filters: VPCFilter(v.vpc),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, client.Explain("reading the route tables of "+v.vpc, err)
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
