package network

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/convert"
	"fairlead.dev/fairlead/providers/aws/look"
)

// This file closes ports of the nodes that no target has any more, such as the node ports of
// deleted Services.
//
// No step waits for that: it is done with a later deregistration, an hour after the last target
// left a port, because AWS may drain a target for that long. The ports in use are then read from
// AWS, of all target groups of the installation, and ports that this process is about to use count
// as well.
//
// A person or another program may have removed a rule of the nodes. So a deep observation checks
// that the ports are open, and so does the wait for unhealthy targets.

// longestDrain is how long AWS drains a target at most.
const longestDrain = time.Hour

// nodePorts holds what is known of the ports of targets.
type nodePorts struct {
	open      map[int32]bool      // known to be open
	closing   map[int32]bool      // being closed
	announced map[int32]int       // how many registrations are about to need a port
	checks    map[int32]time.Time // used by health checks of this process, since when; they stay open
	rechecked map[int32]time.Time // when a port was last checked because of unhealthy targets
	left      map[int32]time.Time // when the last target left a port, or when it was last to be closed
}

// newNodePorts returns nodePorts that know nothing.
func newNodePorts() nodePorts {
	return nodePorts{
		open: map[int32]bool{}, closing: map[int32]bool{}, announced: map[int32]int{},
		checks: map[int32]time.Time{}, rechecked: map[int32]time.Time{}, left: map[int32]time.Time{},
	}
}

// Announce announces that ports are about to be needed, until the returned function is called.
func (n *Nodes) Announce(ports []int32) (over func()) {
	count := func(by int) {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, port := range ports {
			if n.ports.announced[port] += by; n.ports.announced[port] == 0 {
				delete(n.ports.announced, port)
			}
		}
	}
	count(1)
	return func() { count(-1) }
}

// AddCheckPorts adds ports of health checks.
func (n *Nodes) AddCheckPorts(ports []int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, port := range ports {
		n.ports.checks[port] = time.Now()
	}
}

// ReleasePorts records that targets left some ports, and closes ports that the last target left an
// hour ago. A failure is tried again an hour later.
func (n *Nodes) ReleasePorts(ctx context.Context, ports []int32) error {
	if n.unfenced || n.cluster == "" || !n.markReleased(ports) {
		return nil
	}
	_, err, _ := n.calls.Do("unused ports", func() (any, error) { return nil, n.closeUnused(ctx) })
	return err
}

// markReleased records that targets left some ports, and reports whether ports are to be closed.
func (n *Nodes) markReleased(ports []int32) (due bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for _, port := range ports {
		if !n.inUse(port) {
			n.ports.left[port] = now
		}
	}
	for port, since := range n.ports.left {
		switch {
		case n.inUse(port):
			delete(n.ports.left, port)
		case now.Sub(since) >= longestDrain:
			n.ports.left[port], due = now, true
		}
	}
	return due
}

// inUse reports whether a target has a port, or is about to have it, or a health check uses it.
// Targets that are draining do not count. nodes.mu is held.
func (n *Nodes) inUse(port int32) bool {
	if n.ports.announced[port] > 0 || !n.ports.checks[port].IsZero() {
		return true
	}
	for h := range n.targets.AllMembers {
		if h.Port == port && h.State != lb.HealthDraining {
			return true
		}
	}
	return false
}

// closeUnused closes all ports that are open for load balancers and that no target has.
func (n *Nodes) closeUnused(ctx context.Context) error {
	shared := n.knownGroup()
	if shared == "" {
		return nil
	}
	used, err := n.targets.PortsInUse(ctx)
	if err != nil {
		return err
	}
	unlock, err := n.lockGroups(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	groups, err := n.security.OfCluster(ctx, n.cluster)
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
	n.removeCheckPorts(used)
	unused := n.beginClosing(open)
	defer n.endClosing(unused)
	for _, g := range groups {
		if err := n.security.closePorts(ctx, g, shared, func(port int32) bool {
			return unused[port]
		}); err != nil {
			return err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.ports.left, func(port int32, _ time.Time) bool { return !used[port] })
	return nil
}

// removeCheckPorts removes the ports that no health check uses any more. One that was added lately
// may be of a target group that is being created.
func (n *Nodes) removeCheckPorts(used map[int32]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.ports.checks, func(port int32, since time.Time) bool {
		return !used[port] && time.Since(since) >= longestDrain
	})
}

// beginClosing returns those of some ports that are still not needed. From now on, registrations
// that need them wait.
func (n *Nodes) beginClosing(ports map[int32]bool) map[int32]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for port := range n.ports.announced {
		delete(ports, port)
	}
	for port := range n.ports.checks {
		delete(ports, port)
	}
	for h := range n.targets.AllMembers {
		delete(ports, h.Port)
	}
	for port := range ports {
		delete(n.ports.open, port)
		n.ports.closing[port] = true
	}
	return ports
}

// endClosing ends what beginClosing began.
func (n *Nodes) endClosing(ports map[int32]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for port := range ports {
		delete(n.ports.closing, port)
	}
}

// lockGroups waits until no other change of the nodes' security groups is under way: each change is
// computed from the rules that exist.
func (n *Nodes) lockGroups(ctx context.Context) (unlock func(), err error) {
	select {
	case n.groupsLock <- struct{}{}:
		return func() { <-n.groupsLock }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// PortsIn returns the ports of targets.
func PortsIn(targets []lb.Target) []int32 {
	var out []int32
	for _, t := range targets {
		out = append(out, t.Port)
	}
	return out
}

// Observe reads, with a deep look, whether the nodes admit the load balancer on all ports that it
// needs.
func (n *Nodes) Observe(ctx context.Context, l *look.Look, _ map[string]map[string]string) error {
	if !l.Deep || !l.GroupsRight || n.cluster == "" {
		return nil
	}
	ports := portsReached(l)
	if len(ports) == 0 {
		return nil
	}
	groups, err := n.security.OfCluster(ctx, n.cluster)
	if err != nil {
		return err
	}
	l.NodesClosed = slices.ContainsFunc(groups, func(g ec2types.SecurityGroup) bool {
		open := spansFrom(g, l.Shared)
		return slices.ContainsFunc(ports, func(port int32) bool {
			return !slices.ContainsFunc(open, func(s span) bool { return s.has(port) })
		})
	})
	return nil
}

// portsReached returns the ports of the members and of the health checks of our target groups.
func portsReached(l *look.Look) []int32 {
	var out []int32
	for _, g := range l.Groups {
		if !l.Ours(g.TargetGroupArn) {
			continue
		}
		out = append(out, CheckPort(convert.FromHealth(g))...)
		out = append(out, PortsOfMembers(l.Health[aws.ToString(g.TargetGroupArn)])...)
	}
	return out
}

// PortsOfMembers returns the ports of members that are not draining.
func PortsOfMembers(members []lb.TargetHealth) []int32 {
	var out []int32
	for _, m := range members {
		if m.State != lb.HealthDraining {
			out = append(out, m.Port)
		}
	}
	return out
}

// recheckPause is the least time between two checks of a port because of unhealthy targets.
const recheckPause = time.Minute

// RecheckUnhealthy returns the ports of unhealthy members that are due to be checked again. They do
// not count as open until then.
func (n *Nodes) RecheckUnhealthy(members []lb.TargetHealth) []int32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(n.ports.rechecked, func(_ int32, at time.Time) bool {
		return now.Sub(at) >= recheckPause
	})
	var out []int32
	for _, m := range members {
		_, lately := n.ports.rechecked[m.Port]
		if m.State == "unhealthy" && n.ports.open[m.Port] && !lately {
			n.ports.rechecked[m.Port] = now
			delete(n.ports.open, m.Port)
			out = append(out, m.Port)
		}
	}
	return out
}
