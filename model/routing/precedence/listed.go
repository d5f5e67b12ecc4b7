package precedence

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/routing"
)

// This file has the hosts that spec.tls lists and that no rule of the Ingress names. On the ports
// of its Name such a host has its own level, with copies of the routes of the Ingress's rules that
// cover it. A listed host
//
//  1. closes no port: on the other ports it is not named at all;
//  2. yields to a rule that names it and is served on the port;
//  3. yields to a rule for the wildcard that stands for it and is served on the port, where the
//     listing Ingress has only rules without a host, or a default backend; where hosts have owners,
//     only to a wildcard of its own namespace;
//  4. does not yield to rules that are not served on the port;
//  5. belongs, of several Ingresses that list it, to those whose rules for the wildcard answer, if
//     there are any.
//
// If a name is Beside, no wildcard answers for the host on the ports where it is not named:
// requests get the same answers as without a wildcard that covers it.
//
// The routes of a listed host from rules without a host follow those from rules for a wildcard. An
// Ingress has both only if HostMiss is MissFallsThrough.

// nameListed makes the levels of listed hosts that no rule names.
func (t *Table) nameListed() {
	for port, pt := range t.ports {
		byRules := make(map[routing.Host]bool, len(pt.levels))
		for h, level := range pt.levels {
			byRules[h] = h != routing.Any && !level.Closed
		}
		listings := pt.listedNames(t.Names, port)
		wildcards := t.wildcardsOn(port)
		for host, names := range listings {
			if byRules[host] {
				continue // 2
			}
			parent, hasParent := host.Parent()
			hasWildcard := hasParent && !host.Wildcard() && byRules[parent]
			first := slices.MinFunc(names, func(a, b *routing.Name) int {
				return a.Listed.By.Rank() - b.Listed.By.Rank()
			})
			listers := map[string]bool{}
			for _, n := range names {
				// 3
				if n.Listed.By == routing.Any && hasWildcard &&
					(!t.HostsOwned || wildcards[ownedHost{parent, n.Owner.Namespace}]) {
					continue
				}
				if n.Listed.By.Rank() == first.Listed.By.Rank() { // 5
					listers[n.Owner.String()] = true
				}
			}
			if len(listers) > 0 {
				// 4: open, even if it was closed
				pt.levels[host] = &Level{Host: host, listers: listers, namespace: first.Owner.Namespace}
			}
		}
	}
}

// An ownedHost is a host that a rule of a namespace names.
type ownedHost struct {
	host      routing.Host
	namespace string
}

// wildcardsOn returns the wildcards of rules that are served on a port; none if hosts have no
// owners.
func (t *Table) wildcardsOn(port int32) map[ownedHost]bool {
	out := map[ownedHost]bool{}
	for i := range t.Names {
		n := &t.Names[i]
		if t.HostsOwned && n.Listed == nil && n.Host.Wildcard() && slices.Contains(n.Ports, port) {
			out[ownedHost{n.Host, n.Owner.Namespace}] = true
		}
	}
	return out
}

// passWildcards makes the levels of listed hosts with Beside: copies of the level for any host, or
// closed ones if these are too many: see Excess. With MissFallsThrough, less specific hosts answer,
// but those of other namespaces only if hosts have no owners.
func (t *Table) passWildcards() {
	if t.HostMiss != routing.MissAnswers && !t.HostsOwned {
		return
	}
	for i := range t.Names {
		n := &t.Names[i]
		parent, ok := n.Host.Parent()
		if !n.Beside || !ok || n.Host.Wildcard() {
			continue
		}
		for _, port := range slices.Sorted(maps.Keys(t.ports)) {
			pt := t.ports[port]
			if pt.levels[n.Host] != nil || pt.levels[parent] == nil {
				continue
			}
			if pt.passed += max(1, len(pt.levels[routing.Any].Routes)); pt.passed > mostPassedOver {
				pt.levels[n.Host] = &Level{Host: n.Host, Closed: true}
				t.shut = append(t.shut, n)
				continue
			}
			pt.levels[n.Host] = &Level{Host: n.Host, Routes: pt.levels[routing.Any].Routes,
				Miss:          pt.levels[routing.Any].Miss,
				ChallengeMiss: pt.levels[routing.Any].ChallengeMiss, beside: true}
		}
	}
}

// listedNames returns the names of listed hosts on a port, by host.
func (pt *portTable) listedNames(names []routing.Name,
	port int32) map[routing.Host][]*routing.Name {
	out := map[routing.Host][]*routing.Name{}
	for i := range names {
		n := &names[i]
		switch {
		case n.Listed == nil || !slices.Contains(n.Ports, port):
		case slices.Contains(n.Unsaid, port):
			pt.unsaid[n.Host] = true
		default:
			out[n.Host] = append(out[n.Host], n)
		}
	}
	return out
}
