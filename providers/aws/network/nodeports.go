package network

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
)

// This file closes ports of the nodes that no target uses any longer, such as the node ports of
// deleted Services.
//
// No step waits for that: a later deregistration closes a port, an hour after its last target,
// because AWS may drain a target for that long. It reads the ports in use from all target groups of
// the installation, and adds the ports that this process is about to use.
//
// A person or another program may have removed a rule of the nodes. So a deep observation checks
// that the ports are open, and so does the wait for healthy targets.

// longestDrain is the longest time for which AWS drains a target.
const longestDrain = time.Hour

// nodePorts holds the state of the ports of targets.
type nodePorts struct {
	open      map[int32]bool      // known to be open
	closing   map[int32]bool      // being closed
	announced map[int32]int       // the number of registrations that are about to need a port
	checks    map[int32]time.Time // since when health checks of this process use a port; it stays open
	rechecked map[int32]time.Time // when a port was last checked because of unhealthy targets
	left      map[int32]time.Time // when a port lost its last target, or closing it was last tried
}

// newNodePorts returns nodePorts without state.
func newNodePorts() nodePorts {
	return nodePorts{
		open: map[int32]bool{}, closing: map[int32]bool{}, announced: map[int32]int{},
		checks: map[int32]time.Time{}, rechecked: map[int32]time.Time{}, left: map[int32]time.Time{},
	}
}

// AnnouncePorts keeps ports open for a registration until the returned function is called.
func (n *Nodes) AnnouncePorts(ports []int32) (over func()) {
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

// ReleasePorts records that targets left ports, and closes ports that the last target left an hour
// ago. After a failure it tries again an hour later.
func (n *Nodes) ReleasePorts(ctx context.Context, ports []int32) error {
	if n.unmanaged || n.cluster == "" || !n.markReleased(ports) {
		return nil
	}
	_, err, _ := n.calls.Do("unused ports", func() (any, error) { return nil, n.closeUnused(ctx) })
	return err
}

// markReleased records that targets left ports, and reports whether there are ports to close.
func (n *Nodes) markReleased(ports []int32) (due bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for _, port := range ports {
		if !n.isInUse(port) {
			n.ports.left[port] = now
		}
	}
	for port, since := range n.ports.left {
		switch {
		case n.isInUse(port):
			delete(n.ports.left, port)
		case now.Sub(since) >= longestDrain:
			n.ports.left[port], due = now, true
		}
	}
	return due
}

// isInUse reports whether a target or a health check uses a port, or a registration is about to.
// Draining targets do not count. The caller holds nodes.mu.
func (n *Nodes) isInUse(port int32) bool {
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
	used, err := n.targets.PortsInUse(ctx, shared)
	if err != nil {
		return err
	}
	unlock, err := n.lockGroups(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	groups, err := n.security.ReadOfCluster(ctx, n.cluster)
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

// removeCheckPorts removes the ports that health checks no longer use. It keeps recent ones, whose
// target group may not exist yet.
func (n *Nodes) removeCheckPorts(used map[int32]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.ports.checks, func(port int32, since time.Time) bool {
		return !used[port] && time.Since(since) >= longestDrain
	})
}

// beginClosing returns the ports that are still unused. From now on, registrations that need them
// wait.
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

// endClosing ends the wait of registrations for ports.
func (n *Nodes) endClosing(ports map[int32]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for port := range ports {
		delete(n.ports.closing, port)
	}
}

// lockGroups locks the nodes' security groups for one change, because each change is computed from
// the existing rules.
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

// Observe reads, with a deep look, whether the nodes admit the load balancer on all its ports.
func (n *Nodes) Observe(ctx context.Context, l *look.Look, _ map[string]map[string]string) error {
	if !l.Deep || !l.GroupsRight || n.cluster == "" {
		return nil
	}
	ports := portsReached(l)
	if len(ports) == 0 {
		return nil
	}
	groups, err := n.security.ReadOfCluster(ctx, n.cluster)
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
		if !l.IsOurs(g.TargetGroupArn) {
			continue
		}
		out = append(out, CheckPort(client.FromHealth(g))...)
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

// recheckPause is the least time between two checks of a port that has unhealthy targets.
const recheckPause = time.Minute

// RecheckUnhealthy returns the ports of unhealthy members that are due for another check. They
// count as closed until then.
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
