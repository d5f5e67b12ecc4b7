package network

import (
	"cmp"
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/providers/aws/client"
)

// This file changes the rules by which a security group of the nodes admits load balancers: one for
// each port, and one for all node ports together before they fill the group. AWS allows 60 rules a
// group, unless the quota was raised
// (https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html).

const (
	// The default range of --service-node-port-range of the API server
	// (https://kubernetes.io/docs/concepts/services-networking/service/#type-nodeport). A rule for
	// several ports has only ports of this range: among the others is the kubelet's.
	firstNodePort, lastNodePort = 30000, 32767
	// mostPortRules is how many rules a group has at most for single node ports.
	mostPortRules = 20
	// mostRules is how many rules a group may have, of any owner, before node ports share one.
	mostRules = 45
)

// A span is a rule that admits load balancers to the ports of a range.
type span struct{ from, to int32 }

func (s span) has(port int32) bool    { return s.from <= port && port <= s.to }
func (s span) covers(other span) bool { return s.from <= other.from && other.to <= s.to }

// onNodePorts reports whether all ports in the span are node ports.
func (s span) onNodePorts() bool { return span{firstNodePort, lastNodePort}.covers(s) }

// permissionFor returns a rule for the span in the form of EC2.
func (s span) permissionFor(source string) ec2types.IpPermission {
	return ec2types.IpPermission{
		IpProtocol: aws.String("tcp"), FromPort: aws.Int32(s.from), ToPort: aws.Int32(s.to),
		UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: aws.String(source)}},
	}
}

// spansFrom returns the ports on which a security group admits another one.
func spansFrom(g ec2types.SecurityGroup, source string) []span {
	var out []span
	for _, p := range g.IpPermissions {
		from := func(u ec2types.UserIdGroupPair) bool { return aws.ToString(u.GroupId) == source }
		if aws.ToString(p.IpProtocol) == "tcp" && slices.ContainsFunc(p.UserIdGroupPairs, from) {
			out = append(out, span{aws.ToInt32(p.FromPort), aws.ToInt32(p.ToPort)})
		}
	}
	return out
}

// smallestCover returns the smallest span that covers all spans.
func smallestCover(spans []span) span {
	by := func(part func(span) int32) func(a, b span) int {
		return func(a, b span) int { return cmp.Compare(part(a), part(b)) }
	}
	return span{
		slices.MinFunc(spans, by(func(s span) int32 { return s.from })).from,
		slices.MaxFunc(spans, by(func(s span) int32 { return s.to })).to,
	}
}

// widenRules returns the rules to add, and those to revoke after that, to admit ports: a rule for
// each port, or, if there is little room for more rules, one rule for all node ports.
func widenRules(have []span, ports []int32, total int) (added, gone []span) {
	for _, port := range ports {
		if !slices.ContainsFunc(have, func(s span) bool { return s.has(port) }) {
			added = append(added, span{port, port})
		}
	}
	var nodePorts, others []span
	for _, s := range slices.Concat(have, added) {
		if s.onNodePorts() {
			nodePorts = append(nodePorts, s)
		}
	}
	for _, s := range added {
		if !s.onNodePorts() {
			others = append(others, s)
		}
	}
	if len(others) == len(added) || len(nodePorts) <= mostPortRules && total+len(added) <= mostRules {
		return added, nil
	}
	one := smallestCover(nodePorts)
	for _, s := range have {
		if s.onNodePorts() {
			gone = append(gone, s)
		}
	}
	return append(others, one), gone
}

// narrowRules returns the rules to add, and those to revoke after that, to close unused ports at
// the ends of a rule's range.
func narrowRules(have []span, unused func(port int32) bool) (added, gone []span) {
	for _, s := range have {
		var used []int32
		for port := s.from; port <= s.to; port++ {
			if !unused(port) {
				used = append(used, port)
			}
		}
		if len(used) > 0 {
			rest := span{used[0], used[len(used)-1]}
			if rest == s {
				continue
			}
			if !slices.Contains(have, rest) && !slices.Contains(added, rest) {
				added = append(added, rest)
			}
		}
		gone = append(gone, s)
	}
	return added, gone
}

// openPorts makes a security group of the nodes admit the shared group on ports.
func (s *SecurityGroups) openPorts(
	ctx context.Context, g ec2types.SecurityGroup, shared string, ports []int32,
) error {
	// A list whose weight cannot be read counts as one rule; AWS refuses what does not fit.
	weigh, _ := s.Weights.Read(ctx, ListsIn(g))
	added, gone := widenRules(spansFrom(g, shared), ports, RulesIn(g, weigh))
	return s.changeSpans(ctx, aws.ToString(g.GroupId), shared, added, gone)
}

// closePorts makes a security group of the nodes stop admitting the shared group on unused ports,
// except ports between used ports of the same rule.
func (s *SecurityGroups) closePorts(
	ctx context.Context, g ec2types.SecurityGroup, shared string, unused func(port int32) bool,
) error {
	added, gone := narrowRules(spansFrom(g, shared), unused)
	return s.changeSpans(ctx, aws.ToString(g.GroupId), shared, added, gone)
}

// changeSpans adds rules that admit the shared group, and then revokes others.
func (s *SecurityGroups) changeSpans(
	ctx context.Context, group, shared string, added, gone []span,
) error {
	inEC2 := func(s span) ec2types.IpPermission { return s.permissionFor(shared) }
	if err := s.authorize(ctx, group, client.Map(added, inEC2)); err != nil {
		return err
	}
	return s.revoke(ctx, group, client.Map(gone, inEC2))
}
