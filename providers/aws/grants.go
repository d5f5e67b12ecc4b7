package aws

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// everywhere is the ranges of all addresses.
var everywhere = []string{"0.0.0.0/0", "::/0"}

// A grant lets one source connect to one port. The rules of a security group are lists of grants.
type grant struct {
	port   int32
	source string // a range of addresses, a prefix list or a security group
}

// grantsTo returns the grants for the clients of a listener.
func grantsTo(port int32, inbound []string) []grant {
	if len(inbound) == 0 {
		inbound = everywhere
	}
	var out []grant
	for _, source := range inbound {
		out = append(out, grant{port, source})
	}
	return out
}

// permission returns a grant in the form of EC2.
func (g grant) permission() ec2types.IpPermission {
	p := ec2types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(g.port), ToPort: aws.Int32(g.port)}
	switch {
	case strings.HasPrefix(g.source, "sg-"):
		p.UserIdGroupPairs = []ec2types.UserIdGroupPair{{GroupId: aws.String(g.source)}}
	case strings.HasPrefix(g.source, "pl-"):
		p.PrefixListIds = []ec2types.PrefixListId{{PrefixListId: aws.String(g.source)}}
	case strings.Contains(g.source, ":"):
		p.Ipv6Ranges = []ec2types.Ipv6Range{{CidrIpv6: aws.String(g.source)}}
	default:
		p.IpRanges = []ec2types.IpRange{{CidrIp: aws.String(g.source)}}
	}
	return p
}

// grantsIn returns the grants of a security group that have the form of ours: a rule for each TCP
// port.
func grantsIn(g ec2types.SecurityGroup) []grant {
	var out []grant
	for _, p := range g.IpPermissions {
		if aws.ToString(p.IpProtocol) != "tcp" || aws.ToInt32(p.FromPort) != aws.ToInt32(p.ToPort) {
			continue
		}
		add := func(source *string) { out = append(out, grant{aws.ToInt32(p.FromPort), aws.ToString(source)}) }
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
