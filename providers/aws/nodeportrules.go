package aws

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/providers"
)

// This file is the rules by which a security group of the nodes admits load balancers: one for each
// port, and one for all node ports together before they fill the group. AWS allows 60 rules a
// group, unless it has raised that
// (https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html).

const (
	// The ports that Kubernetes gives Services of type NodePort, unless the API server is told
	// otherwise (https://kubernetes.io/docs/concepts/services-networking/service/#type-nodeport).
	// Other ports are never opened for those beside them: among them is the kubelet's.
	firstNodePort, lastNodePort = 30000, 32767
	// mostPortRules is how many rules a group has at most for single node ports.
	mostPortRules = 20
	// mostRules is how many rules there may be in a group, of anybody, before node ports share one.
	mostRules = 45
)

// A span is a rule that admits load balancers to the ports of a range.
type span struct{ from, to int32 }

func (s span) has(port int32) bool    { return s.from <= port && port <= s.to }
func (s span) covers(other span) bool { return s.from <= other.from && other.to <= s.to }

// onNodePorts reports whether all ports of a rule are node ports.
func (s span) onNodePorts() bool { return span{firstNodePort, lastNodePort}.covers(s) }

// permissionFor is a rule as EC2 says it.
func (s span) permissionFor(source string) ec2types.IpPermission {
	return ec2types.IpPermission{
		IpProtocol: aws.String("tcp"), FromPort: aws.Int32(s.from), ToPort: aws.Int32(s.to),
		UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: aws.String(source)}},
	}
}

// spansFrom are the rules of a security group that admit another one.
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

// rulesIn counts the rules of a security group, of anybody.
func rulesIn(g ec2types.SecurityGroup) int {
	n := 0
	for _, p := range g.IpPermissions {
		n += len(p.IpRanges) + len(p.Ipv6Ranges) + len(p.PrefixListIds) + len(p.UserIdGroupPairs)
	}
	return n
}

// covering is the smallest range that has some ranges in it.
func covering(spans []span) span {
	by := func(part func(span) int32) func(a, b span) int {
		return func(a, b span) int { return cmp.Compare(part(a), part(b)) }
	}
	return span{
		slices.MinFunc(spans, by(func(s span) int32 { return s.from })).from,
		slices.MaxFunc(spans, by(func(s span) int32 { return s.to })).to,
	}
}

// widened are the rules to be added, and after them those to be taken away, so that ports are
// admitted: each by a rule of its own, or, if there is little room for more, all node ports by one.
func widened(have []span, ports []int32, total int) (added, gone []span) {
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
	one := covering(nodePorts)
	for _, s := range have {
		if s.onNodePorts() {
			gone = append(gone, s)
		}
	}
	return append(others, one), gone
}

// narrowed are the rules to be added, and after them those to be taken away, so that ports are no
// longer admitted that are at the ends of a rule's range, or all of it.
func narrowed(have []span, unused func(port int32) bool) (added, gone []span) {
	for _, s := range have {
		rest := s
		for rest.from <= rest.to && unused(rest.from) {
			rest.from++
		}
		for rest.from < rest.to && unused(rest.to) {
			rest.to--
		}
		switch {
		case rest == s:
			continue
		case rest.from <= rest.to && !slices.Contains(have, rest) && !slices.Contains(added, rest):
			added = append(added, rest)
		}
		gone = append(gone, s)
	}
	return added, gone
}

// admitNodePorts has a security group of the nodes admit load balancers on some ports.
func (p *Provider) admitNodePorts(ctx context.Context, g ec2types.SecurityGroup, shared string, ports []int32) error {
	have, id := spansFrom(g, shared), aws.ToString(g.GroupId)
	added, gone := widened(have, ports, rulesIn(g))
	err := p.authorizeSpans(ctx, id, shared, added)
	switch {
	case is(err, "InvalidPermission.Duplicate"):
		return fmt.Errorf("security group %s is changing: %w", id, providers.ErrPending)
	case err != nil:
		return explained("admitting to security group "+id, err)
	}
	return p.revokeSpans(ctx, id, shared, gone)
}

// shutNodePorts has a security group of the nodes admit load balancers on some ports no more, as
// far as no rule needs them for others.
func (p *Provider) shutNodePorts(ctx context.Context, g ec2types.SecurityGroup, shared string, unused func(port int32) bool) error {
	added, gone := narrowed(spansFrom(g, shared), unused)
	id := aws.ToString(g.GroupId)
	if err := p.authorizeSpans(ctx, id, shared, added); err != nil {
		return explained("admitting to security group "+id, err)
	}
	return p.revokeSpans(ctx, id, shared, gone)
}

// authorizeSpans adds rules to a security group by which load balancers are admitted.
func (p *Provider) authorizeSpans(ctx context.Context, group, shared string, spans []span) error {
	if len(spans) == 0 {
		return nil
	}
	in := &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(group)}
	for _, s := range spans {
		in.IpPermissions = append(in.IpPermissions, s.permissionFor(shared))
	}
	_, err := p.ec2.AuthorizeSecurityGroupIngress(ctx, in)
	return err
}

// revokeSpans takes rules by which load balancers are admitted from a security group.
func (p *Provider) revokeSpans(ctx context.Context, group, shared string, spans []span) error {
	if len(spans) == 0 {
		return nil
	}
	in := &ec2.RevokeSecurityGroupIngressInput{GroupId: aws.String(group)}
	for _, s := range spans {
		in.IpPermissions = append(in.IpPermissions, s.permissionFor(shared))
	}
	_, err := p.ec2.RevokeSecurityGroupIngress(ctx, in)
	if is(err, "InvalidPermission.NotFound") {
		return nil
	}
	return explained("shutting out of security group "+group, err)
}
