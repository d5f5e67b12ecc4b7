package answer

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds the load balancers to which the DNS name of a host may lead.

// naming returns the load balancers that name a host, or a wildcard that covers it: the most specific
// name first, and of those with the same one by the age of the oldest such Ingress. It also returns
// that name, and how many load balancers have it.
func naming(programs []program.Program, host string) (
	all []program.Program, name routing.Host, same int,
) {
	for _, level := range routing.Levels(host) {
		if level == routing.Any {
			break
		}
		found := claimedBy(programs, func(t *precedence.Table) []routing.Owner {
			var owners []routing.Owner
			for _, n := range t.Names {
				if n.Host == level {
					owners = append(owners, n.Owner)
				}
			}
			return owners
		})
		if len(all) == 0 {
			name, same = level, len(found)
		}
		all = withOthers(all, found)
	}
	return all, name, same
}

// withOthers returns load balancers, and those of more that are none of them.
func withOthers(first, more []program.Program) []program.Program {
	for _, p := range more {
		if !slices.ContainsFunc(first, func(o program.Program) bool {
			return o.LoadBalancer.Key == p.LoadBalancer.Key
		}) {
			first = append(first, p)
		}
	}
	return first
}

// listening returns the load balancers with a listener on a port: first those that answer for any
// host there, then the others, each by the age of the oldest Ingress.
func listening(programs []program.Program, port int32) []program.Program {
	listens := slices.DeleteFunc(slices.Clone(programs), func(p program.Program) bool {
		return p.After.Listener(port) == nil
	})
	anyHost := claimedBy(listens, func(t *precedence.Table) []routing.Owner {
		return answeringAny(t, port)
	})
	return withOthers(anyHost, claimedBy(listens, func(t *precedence.Table) []routing.Owner {
		return t.Members
	}))
}

// claimedBy returns the load balancers that have owners of some kind, by the age of the oldest.
func claimedBy(
	programs []program.Program, owners func(*precedence.Table) []routing.Owner,
) []program.Program {
	type claim struct {
		program.Program
		oldest routing.Owner
	}
	var found []claim
	for _, p := range programs {
		if all := owners(p.Table); len(all) > 0 {
			found = append(found, claim{p, slices.MinFunc(all, byAge)})
		}
	}
	slices.SortStableFunc(found, func(a, b claim) int {
		return cmp.Or(byAge(a.oldest, b.oldest),
			cmp.Compare(a.LoadBalancer.Key, b.LoadBalancer.Key))
	})
	var out []program.Program
	for _, c := range found {
		out = append(out, c.Program)
	}
	return out
}

// byAge compares Ingresses of different load balancers. The annotation for the order has no meaning
// between these.
func byAge(a, b routing.Owner) int {
	a.Order, b.Order = 0, 0
	return routing.Older(a, b)
}

// answeringAny returns the Ingresses with a rule for any host on a port, or with a default backend.
func answeringAny(t *precedence.Table, port int32) []routing.Owner {
	var owners []routing.Owner
	for _, r := range t.Routes {
		if r.Host == routing.Any && slices.Contains(r.Ports, port) {
			owners = append(owners, r.Owner)
		}
	}
	for _, d := range t.Defaults {
		if slices.Contains(d.Ports, port) {
			owners = append(owners, d.Owner)
		}
	}
	return owners
}
