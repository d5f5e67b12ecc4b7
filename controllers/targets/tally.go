package targets

import (
	"strconv"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/lb"
)

// This file counts the targets of a load balancer, so that a group need not look at all others.

// A tally counts the targets of all groups of one load balancer.
type tally struct {
	targets int
	ports   map[string]map[int32]int // the number of targets by namespace and port
}

// add adds the targets of a group n times; -1 removes them.
func (y *tally) add(t *tracked, n int) {
	y.targets += n * len(t.members)
	namespace := namespaceOf(t.backend.Service)
	for _, m := range t.members {
		ports := y.ports[namespace]
		if ports == nil {
			ports = map[int32]int{}
			y.ports[namespace] = ports
		}
		if ports[m.Port] += n; ports[m.Port] == 0 {
			delete(ports, m.Port)
		}
	}
	if len(y.ports[namespace]) == 0 {
		delete(y.ports, namespace)
	}
}

// update changes a group, and the tally of its load balancer. The caller has the lock.
func (b *Book) update(key lb.Key, t *tracked, change func(*tracked)) {
	y := b.tallies[key]
	if y == nil {
		y = &tally{ports: map[string]map[int32]int{}}
		b.tallies[key] = y
	}
	y.add(t, -1)
	change(t)
	y.add(t, 1)
}

// otherTargets returns the number of known targets of the other groups of a load balancer.
func (b *Book) otherTargets(k lb.GroupKey) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	y := b.tallies[k.Key]
	if y == nil {
		return 0
	}
	if t := b.group(k); t != nil {
		return y.targets - len(t.members)
	}
	return y.targets
}

// otherPorts returns the ports of targets and of health checks of the load balancer's other groups
// that belong to the same namespace.
func (b *Book) otherPorts(k lb.GroupKey) map[int32]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[int32]bool{}
	t := b.group(k)
	if t == nil {
		return out
	}
	namespace := namespaceOf(t.backend.Service)
	own := map[int32]int{}
	for _, m := range t.members {
		own[m.Port]++
	}
	if y := b.tallies[k.Key]; y != nil {
		for port, n := range y.ports[namespace] {
			if n > own[port] {
				out[port] = true
			}
		}
	}
	for port := range b.wanted[k.Key].checked[namespace] {
		out[port] = true
	}
	return out
}

// checkedPorts returns the ports that health checks name by number, by namespace.
func checkedPorts(groups []lb.TargetGroup) map[string]map[int32]bool {
	out := map[string]map[int32]bool{}
	for _, g := range groups {
		port, err := strconv.ParseInt(g.Health.Port, 10, 32)
		if err != nil {
			continue // it is the port of the targets
		}
		namespace := namespaceOf(g.Service)
		if out[namespace] == nil {
			out[namespace] = map[int32]bool{}
		}
		out[namespace][int32(port)] = true
	}
	return out
}

// namespaceOf returns the namespace of a target group's Service.
func namespaceOf(service string) string {
	return cluster.RefFrom(cluster.KindService, service).Namespace
}
