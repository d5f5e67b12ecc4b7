package aws

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file has the nodes shut ports that no target has any more, such as the node ports of
// Services that are gone.
//
// Nobody waits for that: it is done with whatever takes targets away, an hour after a port was let
// go of, for so long may AWS drain a target. What is in use is then read from AWS, of all target
// groups of the installation, and what this process is about to use counts as well.

// longestDrain is how long AWS drains a target at most.
const longestDrain = time.Hour

// nodePorts are the ports of targets, as far as the nodes have to admit them.
type nodePorts struct {
	open     map[int32]bool      // those that are known to be
	shutting map[int32]bool      // those that are being shut
	coming   map[int32]int       // how many are about to need them
	checks   map[int32]time.Time // those that health checks of this process go to, since when: they are not shut
	doubted  map[int32]time.Time // when those were looked at again whose targets are unhealthy
	left     map[int32]time.Time // when the last target was let go of that had them, or when they were to be shut
}

// coming notes that ports are about to be needed; what it returns notes that they are in use, or
// not needed.
func (p *Provider) coming(ports []int32) (over func()) {
	count := func(by int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, port := range ports {
			if p.ports.coming[port] += by; p.ports.coming[port] == 0 {
				delete(p.ports.coming, port)
			}
		}
	}
	count(1)
	return func() { count(-1) }
}

// checked notes that health checks go to ports.
func (p *Provider) checked(ports []int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, port := range ports {
		p.ports.checks[port] = time.Now()
	}
}

// vacate notes that targets with some ports were let go of, and shuts ports that the last one left
// long ago. What fails is tried again after as long.
func (p *Provider) vacate(ctx context.Context, ports []int32) error {
	if p.unfenced || p.cluster == "" || !p.vacant(ports) {
		return nil
	}
	_, err, _ := p.looks.Do("unused ports", func() (any, error) { return nil, p.shutUnused(ctx) })
	return err
}

// vacant notes that targets with some ports were let go of, and reports whether there are ports to
// be shut.
func (p *Provider) vacant(ports []int32) (due bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for _, port := range ports {
		if !p.needs(port) {
			p.ports.left[port] = now
		}
	}
	for port, since := range p.ports.left {
		switch {
		case p.needs(port):
			delete(p.ports.left, port)
		case now.Sub(since) >= longestDrain:
			p.ports.left[port], due = now, true
		}
	}
	return due
}

// needs reports whether some target has a port, or is about to, or a health check goes there. Those
// that are draining do not count.
func (p *Provider) needs(port int32) bool {
	if p.ports.coming[port] > 0 || !p.ports.checks[port].IsZero() {
		return true
	}
	for _, m := range p.members {
		if slices.ContainsFunc(m.members, func(h lb.TargetHealth) bool { return h.Port == port && h.State != "draining" }) {
			return true
		}
	}
	return false
}

// shutUnused has the nodes shut all ports that are open for load balancers and that no target has.
func (p *Provider) shutUnused(ctx context.Context) error {
	shared := p.knownGroup()
	if shared == "" {
		return nil
	}
	used, err := p.portsInUse(ctx)
	if err != nil {
		return err
	}
	over, err := p.changeNodes(ctx)
	if err != nil {
		return err
	}
	defer over()
	groups, err := p.nodeGroups(ctx)
	if err != nil {
		return err
	}
	open := map[int32]bool{}
	for _, g := range groups {
		for _, s := range spansFrom(g, shared) {
			for port := s.from; port <= s.to; port++ {
				open[port] = !used[port]
			}
		}
	}
	maps.DeleteFunc(open, func(_ int32, unused bool) bool { return !unused })
	p.forgetChecks(used)
	unused := p.beginShutting(open)
	defer p.endShutting(unused)
	for _, g := range groups {
		if err := p.securityGroups.closePorts(ctx, g, shared, func(port int32) bool { return unused[port] }); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.ports.left, func(port int32, _ time.Time) bool { return !used[port] })
	return nil
}

// portsInUse are the ports of all targets and health checks of the installation.
func (p *Provider) portsInUse(ctx context.Context) (map[int32]bool, error) {
	there, err := p.groupsOfAll(ctx)
	if err != nil {
		return nil, err
	}
	health := make([][]lb.TargetHealth, len(there))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(atOnce)
	for i, g := range there {
		reads.Go(providers.Safely(ctx, func() (err error) {
			if health[i], err = p.healthOf(ctx, aws.ToString(g.TargetGroupArn)); is(err, "TargetGroupNotFound") {
				return nil // deleted a moment ago
			}
			return err
		}))
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	used := map[int32]bool{}
	for i, g := range there {
		for _, port := range checkPort(routing.HealthCheck{Port: aws.ToString(g.HealthCheckPort)}) {
			used[port] = true
		}
		for _, t := range health[i] {
			used[t.Port] = true
		}
	}
	return used, nil
}

// groupsOfAll are the target groups of the installation, and those whose tags cannot be read. The
// index of tags is not asked: it may lack a target group that was made a while ago, whose ports
// would be shut.
func (p *Provider) groupsOfAll(ctx context.Context) ([]elb.TargetGroup, error) {
	var all []elb.TargetGroup
	pages := elbapi.NewDescribeTargetGroupsPaginator(p.elb, &elbapi.DescribeTargetGroupsInput{PageSize: aws.Int32(400)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, explained("reading target groups", err)
		}
		for _, g := range page.TargetGroups {
			if aws.ToString(g.VpcId) == p.vpc && strings.HasPrefix(aws.ToString(g.TargetGroupName), namePrefix) {
				all = append(all, g)
			}
		}
	}
	var out []elb.TargetGroup
	for part := range slices.Chunk(all, tagBatch) {
		tags, err := p.tagsOf(ctx, each(part, func(g elb.TargetGroup) string { return aws.ToString(g.TargetGroupArn) }))
		if err != nil && !is(err, "TargetGroupNotFound") { // one that was deleted a moment ago fails the call for all of them
			return nil, err
		}
		for _, g := range part {
			if found, read := tags[aws.ToString(g.TargetGroupArn)]; !read || found[tagInstallation] == p.installation {
				out = append(out, g)
			}
		}
	}
	return out, nil
}

// forgetChecks forgets the ports to which no health check goes any more. One that was announced
// lately may be of a target group that is being made.
func (p *Provider) forgetChecks(used map[int32]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.ports.checks, func(port int32, since time.Time) bool { return !used[port] && time.Since(since) >= longestDrain })
}

// beginShutting chooses those of some ports that nobody has begun to need meanwhile. Who begins now
// waits.
func (p *Provider) beginShutting(ports map[int32]bool) map[int32]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for port := range p.ports.coming {
		delete(ports, port)
	}
	for port := range p.ports.checks {
		delete(ports, port)
	}
	for _, m := range p.members {
		for _, h := range m.members {
			delete(ports, h.Port)
		}
	}
	for port := range ports {
		delete(p.ports.open, port)
		p.ports.shutting[port] = true
	}
	return ports
}

func (p *Provider) endShutting(ports map[int32]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for port := range ports {
		delete(p.ports.shutting, port)
	}
}

// changeNodes waits until no other change of the nodes' security groups is under way: each is made
// of what was there.
func (p *Provider) changeNodes(ctx context.Context) (over func(), err error) {
	select {
	case p.changing <- struct{}{}:
		return func() { <-p.changing }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// portsIn are the ports of targets.
func portsIn(targets []lb.Target) []int32 {
	var out []int32
	for _, t := range targets {
		out = append(out, t.Port)
	}
	return out
}
