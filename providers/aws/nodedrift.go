package aws

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/model/lb"
)

// This file doubts that the nodes admit load balancers on the ports of their targets: another hand
// may have taken the rule away.

// readNodes reads, looked at deeply, whether the nodes admit the load balancer on all ports that it
// needs.
func (p *Provider) readNodes(ctx context.Context, l *look, _ map[string]map[string]string) error {
	if !l.deep || !l.fenced || p.cluster == "" {
		return nil
	}
	ports := l.portsReached()
	if len(ports) == 0 {
		return nil
	}
	groups, err := p.nodeGroups(ctx)
	if err != nil {
		return err
	}
	l.cutOff = slices.ContainsFunc(groups, func(g ec2types.SecurityGroup) bool {
		open := spansFrom(g, l.shared)
		return slices.ContainsFunc(ports, func(port int32) bool {
			return !slices.ContainsFunc(open, func(s span) bool { return s.has(port) })
		})
	})
	return nil
}

// portsReached are the ports of the members and of the health checks of target groups of ours.
func (l *look) portsReached() []int32 {
	var out []int32
	for _, g := range l.groups {
		if !l.ours(g.TargetGroupArn) {
			continue
		}
		out = append(out, checkPort(fromHealth(g))...)
		out = append(out, portsOfMembers(l.health[aws.ToString(g.TargetGroupArn)])...)
	}
	return out
}

// portsOfMembers are the ports of targets that requests are sent to.
func portsOfMembers(members []lb.TargetHealth) []int32 {
	var out []int32
	for _, m := range members {
		if m.State != "draining" {
			out = append(out, m.Port)
		}
	}
	return out
}

// portsBehind are the ports of the members of a load balancer's target groups, as far as they are
// known.
func (p *Provider) portsBehind(seen *lb.Observed) []int32 {
	var out []int32
	for _, g := range seen.TargetGroups {
		out = append(out, portsOfMembers(p.membersOf(g.Handle).members)...)
	}
	return out
}

// reachBehind makes sure that a load balancer that is about to be made can reach the members that
// its target groups have already. An operator before this one may have registered them, and the
// last load balancer that goes shuts the nodes.
func (p *Provider) reachBehind(ctx context.Context, key lb.Key, seen *lb.Observed) error {
	return p.reach(ctx, key, p.portsBehind(seen))
}

// doubtPause is how long a port is believed to be open after it was looked at for the sake of
// unhealthy targets.
const doubtPause = time.Minute

// doubt has the ports of unhealthy members looked at again before they are next relied on, and
// returns them.
func (p *Provider) doubt(members []lb.TargetHealth) []int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(p.ports.doubted, func(_ int32, at time.Time) bool { return now.Sub(at) >= doubtPause })
	var out []int32
	for _, m := range members {
		_, lately := p.ports.doubted[m.Port]
		if m.State == "unhealthy" && p.ports.open[m.Port] && !lately {
			p.ports.doubted[m.Port] = now
			delete(p.ports.open, m.Port)
			out = append(out, m.Port)
		}
	}
	return out
}
