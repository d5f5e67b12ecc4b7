package look

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Everywhere has the ranges of all addresses.
var Everywhere = []string{"0.0.0.0/0", "::/0"}

// OnlyIPv6 returns the clients of a listener that have IPv6 addresses.
func OnlyIPv6(inbound []string) (out []string) {
	for _, g := range MakeGrants(0, inbound) {
		if strings.Contains(g.Source, ":") && !strings.Contains(g.Source, ".") {
			out = append(out, g.Source)
		}
	}
	return out
}

// A Grant lets one source connect to one port. The rules of a security group are lists of grants.
type Grant struct {
	Port   int32
	Source string // a range of addresses, a prefix list or a security group
}

// MakeGrants returns grants to a port for the clients of a listener.
func MakeGrants(port int32, inbound []string) []Grant {
	if len(inbound) == 0 {
		inbound = Everywhere
	}
	var out []Grant
	for _, source := range inbound {
		out = append(out, Grant{port, source})
	}
	return out
}

// Permission returns a grant in the form of EC2.
func (g Grant) Permission() ec2types.IpPermission {
	p := ec2types.IpPermission{
		IpProtocol: aws.String("tcp"), FromPort: aws.Int32(g.Port), ToPort: aws.Int32(g.Port),
	}
	switch {
	case strings.HasPrefix(g.Source, "sg-"):
		p.UserIdGroupPairs = []ec2types.UserIdGroupPair{{GroupId: aws.String(g.Source)}}
	case strings.HasPrefix(g.Source, "pl-"):
		p.PrefixListIds = []ec2types.PrefixListId{{PrefixListId: aws.String(g.Source)}}
	case strings.Contains(g.Source, ":"):
		p.Ipv6Ranges = []ec2types.Ipv6Range{{CidrIpv6: aws.String(g.Source)}}
	default:
		p.IpRanges = []ec2types.IpRange{{CidrIp: aws.String(g.Source)}}
	}
	return p
}

// ReadGrants returns the grants of a security group: those of its rules that are for one TCP port, as
// ours are.
func ReadGrants(g ec2types.SecurityGroup) []Grant {
	var out []Grant
	for _, p := range g.IpPermissions {
		if aws.ToString(p.IpProtocol) != "tcp" || aws.ToInt32(p.FromPort) != aws.ToInt32(p.ToPort) {
			continue
		}
		add := func(source *string) {
			out = append(out, Grant{aws.ToInt32(p.FromPort), aws.ToString(source)})
		}
		for _, r := range p.IpRanges {
			add(r.CidrIp)
		}
		for _, r := range p.Ipv6Ranges {
			add(r.CidrIpv6)
		}
		for _, r := range p.PrefixListIds {
			add(r.PrefixListId)
		}
		for _, r := range p.UserIdGroupPairs {
			add(r.GroupId)
		}
	}
	return out
}

// SourcesOn returns the sources that security groups admit to a TCP port, sorted, by the rules of all writers. A rule can be
// for several ports, and for all of them.
func SourcesOn(groups []ec2types.SecurityGroup, port int32) []string {
	var out []string
	for _, g := range groups {
		for _, p := range g.IpPermissions {
			protocol, all := aws.ToString(p.IpProtocol), p.FromPort == nil || *p.FromPort == -1
			within := all || *p.FromPort <= port && port <= aws.ToInt32(p.ToPort)
			if protocol != "-1" && (protocol != "tcp" && protocol != "6" || !within) {
				continue
			}
			p.IpProtocol, p.FromPort, p.ToPort = aws.String("tcp"), aws.Int32(port), aws.Int32(port)
			for _, grant := range ReadGrants(ec2types.SecurityGroup{IpPermissions: []ec2types.IpPermission{p}}) {
				out = append(out, grant.Source)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// PlaceGrants distributes grants over security groups with room for rules, the heaviest first, each to
// the first group that it fits into. fits is false if one fits into none.
func PlaceGrants(
	room []int, list []Grant, weigh func(source string) int,
) (places [][]Grant, fits bool) {
	room, places = slices.Clone(room), make([][]Grant, len(room))
	byWeight := slices.SortedStableFunc(slices.Values(list), func(a, b Grant) int {
		return weigh(b.Source) - weigh(a.Source)
	})
	for _, g := range byWeight {
		at := slices.IndexFunc(room, func(n int) bool { return n >= weigh(g.Source) })
		if at < 0 {
			return nil, false
		}
		room[at] -= weigh(g.Source)
		places[at] = append(places[at], g)
	}
	return places, true
}

// ListsIn returns the prefix lists among the sources of grants.
func ListsIn(list []Grant) []string {
	var out []string
	for _, g := range list {
		if strings.HasPrefix(g.Source, "pl-") && !slices.Contains(out, g.Source) {
			out = append(out, g.Source)
		}
	}
	return out
}
