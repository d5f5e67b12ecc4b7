package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file chooses the subnets that a load balancer stands in: those that its class names, or one
// in each availability zone. The choice is made once, and thought over when the load balancer is
// looked at deeply.

// The tags by which people say what subnets are for.
const (
	tagPublicRole  = "kubernetes.io/role/elb"
	tagPrivateRole = "kubernetes.io/role/internal-elb"
)

// networkLife is how long subnets and route tables hold that were read for another load balancer.
const networkLife = time.Minute

// leastFree is how many free addresses AWS asks of a subnet.
const leastFree = 8

// A place is what was asked for, and the subnets that were chosen.
type place struct {
	asked   lb.Network
	subnets []string
	groups  []string // security groups, where the class names some
}

// stand notes where a load balancer is to stand: where it does, and what is missing, if nothing
// fits, or if it cannot have its name.
func (p *Provider) stand(ctx context.Context, n lb.Network, facts *lb.Facts) error {
	if n.Key == "" {
		return nil
	}
	p.mu.Lock()
	known, ok := p.places[n.Key]
	p.mu.Unlock()
	if ok && reflect.DeepEqual(known.asked, n) {
		facts.Subnets, facts.SecurityGroups = known.subnets, known.groups
		return nil
	}
	there, taken, err := p.balancerOf(ctx, n.Key)
	if err != nil {
		return err
	}
	p.notice(n.Key, there, taken != "")
	if facts.NameTaken = taken; taken != "" {
		return nil
	}
	var standing []string
	if there != nil {
		standing = subnetsIn(*there)
	}
	subnets, err := p.choose(ctx, n, standing)
	if errors.Is(err, providers.ErrRejected) {
		facts.Subnets, facts.Unmet = standing, append(facts.Unmet, err.Error())
		return nil
	}
	if err != nil && there != nil && len(n.SecurityGroups) == 0 {
		facts.Subnets, facts.Stale = standing, append(facts.Stale, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	groups, err := p.namedGroups(ctx, n.SecurityGroups)
	if errors.Is(err, providers.ErrRejected) {
		facts.Unmet = append(facts.Unmet, err.Error())
	} else if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	facts.Subnets, facts.SecurityGroups = subnets, groups
	if len(facts.Unmet) == 0 {
		p.places[n.Key] = place{n, subnets, groups}
	}
	return nil
}

// leave forgets where a load balancer is to stand.
func (p *Provider) leave(key lb.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.places, key)
}

// choose chooses subnets. Those that the load balancer stands in already stay, as long as they fit.
// What was read a moment ago is good enough to find some, and not to say that there are none.
func (p *Provider) choose(ctx context.Context, n lb.Network, standing []string) ([]string, error) {
	now := time.Now()
	chosen, err := p.chooseSince(ctx, now.Add(-networkLife), n, standing)
	if errors.Is(err, providers.ErrRejected) {
		return p.chooseSince(ctx, now, n, standing)
	}
	return chosen, err
}

// chooseSince chooses from what there was at some time, or later.
func (p *Provider) chooseSince(ctx context.Context, when time.Time, n lb.Network, standing []string) ([]string, error) {
	subnets, err := p.subnetsOf(ctx, when)
	if err != nil {
		return nil, err
	}
	if len(n.Subnets) > 0 {
		return p.named(n.Subnets, subnets)
	}
	subnets = p.ofOneKind(n, subnets)
	fits, what, err := p.fitting(ctx, when, n, subnets)
	if err != nil {
		return nil, err
	}
	if len(standing) > 1 && !slices.ContainsFunc(standing, func(id string) bool {
		return !slices.ContainsFunc(subnets, func(s ec2types.Subnet) bool { return aws.ToString(s.SubnetId) == id && fits(s) })
	}) {
		return standing, nil
	}
	chosen := onePerZone(subnets, standing, fits)
	if len(chosen) < 2 {
		return nil, fmt.Errorf("choosing subnets of %s: %d availability zones have one that %s, and that has %d free addresses; AWS asks for two; those of Local Zones, Wavelength Zones and Outposts have to be named by the class: %w",
			p.vpc, len(chosen), what, leastFree, providers.ErrRejected)
	}
	return chosen, nil
}

// ofOneKind are the subnets to choose from: those in availability zones, unless the tags of the
// class are those of others.
func (p *Provider) ofOneKind(n lb.Network, subnets []ec2types.Subnet) []ec2types.Subnet {
	out := slices.DeleteFunc(slices.Clone(subnets), func(s ec2types.Subnet) bool { return !p.regional(s) })
	if fits := hasTags(n.SubnetTags); len(n.SubnetTags) > 0 && !slices.ContainsFunc(out, fits) {
		return slices.DeleteFunc(slices.Clone(subnets), func(s ec2types.Subnet) bool { return p.regional(s) })
	}
	return out
}

// hasTags tells which subnets have all of some tags.
func hasTags(tags map[string]string) func(ec2types.Subnet) bool {
	return func(s ec2types.Subnet) bool {
		return !slices.ContainsFunc(sorted(tags), func(key string) bool { return !tagged(s.Tags, key, tags[key]) })
	}
}

// regional reports whether a subnet is in an availability zone of the region, and not in a Local
// Zone, in a Wavelength Zone or on an Outpost: "the zones must be of the same type"
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/application-load-balancers.html).
// "The code for an Availability Zone is its Region code followed by a letter identifier"
// (https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-availability-zones.html);
// those of Local Zones and Wavelength Zones have a location in between, as us-west-2-lax-1a and
// us-east-1-wl1-bos-wlz-1
// (https://docs.aws.amazon.com/local-zones/latest/ug/available-local-zones.html). So it takes no
// call.
func (p *Provider) regional(s ec2types.Subnet) bool {
	letter, ofRegion := strings.CutPrefix(aws.ToString(s.AvailabilityZone), p.region)
	return s.OutpostArn == nil && (p.region == "" || ofRegion && len(letter) == 1)
}

// named are the subnets of some IDs or names.
func (p *Provider) named(names []string, subnets []ec2types.Subnet) ([]string, error) {
	var out []string
	for _, name := range names {
		at := slices.IndexFunc(subnets, func(s ec2types.Subnet) bool {
			return aws.ToString(s.SubnetId) == name || tagged(s.Tags, "Name", name)
		})
		if at < 0 {
			return nil, fmt.Errorf("choosing subnets of %s: none has the ID or the name %s: %w", p.vpc, name, providers.ErrRejected)
		}
		out = append(out, aws.ToString(subnets[at].SubnetId))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// fitting tells which subnets fit, and says what makes them: the tags of the class, else the role
// of the scheme, else whether they reach the internet, as far as that tells them apart.
func (p *Provider) fitting(ctx context.Context, when time.Time, n lb.Network, subnets []ec2types.Subnet) (fits func(ec2types.Subnet) bool, what string, err error) {
	if len(n.SubnetTags) > 0 {
		return hasTags(n.SubnetTags), "has the tags of the class", nil
	}
	role, public := tagPrivateRole, n.Scheme == "internet-facing"
	if public {
		role = tagPublicRole
	}
	fits = func(s ec2types.Subnet) bool {
		return slices.ContainsFunc(s.Tags, func(t ec2types.Tag) bool {
			return aws.ToString(t.Key) == role && (aws.ToString(t.Value) == "" || aws.ToString(t.Value) == "1")
		})
	}
	if slices.ContainsFunc(subnets, fits) {
		return fits, "is tagged " + role, nil
	}
	open, err := p.reachable(ctx, when)
	if err != nil {
		return nil, "", err
	}
	fits = func(s ec2types.Subnet) bool { return open(aws.ToString(s.SubnetId)) == public }
	if !slices.ContainsFunc(subnets, fits) {
		// An internal load balancer can stand in public subnets, and where none reaches the internet, AWS
		// says so itself.
		return func(ec2types.Subnet) bool { return true }, "is in the VPC", nil
	}
	what = "is tagged " + role + " or has no route to an internet gateway"
	if public {
		what = "is tagged " + role + " or has a route to an internet gateway"
	}
	return fits, what, nil
}

// tagged reports whether there is a tag of a key and a value. An empty value stands for any.
func tagged(tags []ec2types.Tag, key, value string) bool {
	return slices.ContainsFunc(tags, func(t ec2types.Tag) bool {
		return aws.ToString(t.Key) == key && (value == "" || aws.ToString(t.Value) == value)
	})
}

// subnetsOf are the subnets that the VPC had at some time, or later.
func (p *Provider) subnetsOf(ctx context.Context, when time.Time) ([]ec2types.Subnet, error) {
	return p.subnets.since(when, func() ([]ec2types.Subnet, error) {
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
	})
}

func (p *Provider) inVPC() []ec2types.Filter {
	return []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{p.vpc}}}
}

// onePerZone are, of the subnets that fit, one in each zone: where there is one that the load
// balancer stands in, that one, else the one with the lowest ID.
func onePerZone(subnets []ec2types.Subnet, standing []string, fits func(ec2types.Subnet) bool) []string {
	best := map[string]string{}
	for _, s := range subnets {
		zone, id := aws.ToString(s.AvailabilityZone), aws.ToString(s.SubnetId)
		stands := slices.Contains(standing, id)
		switch {
		case !fits(s), !stands && aws.ToInt32(s.AvailableIpAddressCount) < leastFree:
		case stands, best[zone] == "", id < best[zone] && !slices.Contains(standing, best[zone]):
			best[zone] = id
		}
	}
	return slices.Sorted(maps.Values(best))
}

// reachable tells which subnets route to the internet by themselves.
func (p *Provider) reachable(ctx context.Context, when time.Time) (func(subnet string) bool, error) {
	tables, err := p.tables.since(when, func() ([]ec2types.RouteTable, error) {
		var out []ec2types.RouteTable
		pages := ec2.NewDescribeRouteTablesPaginator(p.ec2, &ec2.DescribeRouteTablesInput{Filters: p.inVPC()})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, explained("reading the route tables of "+p.vpc, err)
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
