package model

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
)

// This file keeps an equal share of each quota for each namespace of a load balancer. What a
// namespace takes beyond its share gives way before anything within the share of another one,
// whether it is new, changed or served: of what a namespace asks for, the newest is beyond.
//
// A namespace takes what it would take if it had the load balancer alone. Rules that come to be
// only where namespaces meet, such as paths for any host that are repeated for the hosts below a
// wildcard, count for none: a neighbour causes them, or takes them away, by what it asks for. The
// rules of closed hosts count for the namespace that gave these up.

// A use has the resources of quotas that an Ingress, or a namespace, takes: of target groups and
// certificates, how many Ingresses take each of them.
type use struct {
	rules        int
	groups       map[lb.GroupID]int
	certificates map[portCertificate]int
}

// A portCertificate is a certificate on a port.
type portCertificate struct {
	port int32
	id   lb.CertificateID
}

func newUse() *use {
	return &use{groups: map[lb.GroupID]int{}, certificates: map[portCertificate]int{}}
}

// uses has what a namespace takes of a load balancer of its own: in all, and of each Ingress, by
// namespace/name; "" for what belongs to none, such as a 404 for hosts of several.
type uses struct {
	all *use
	of  map[string]*use
}

// usesOf returns what a namespace takes of a load balancer of its own, with some rules of closed
// hosts. A rule belongs to one Ingress at most. The default certificates of the shared load balancer
// count for no quota.
func usesOf(s ingress.Snapshot, l lb.LoadBalancer, closed int,
	defaults map[portCertificate]bool) uses {
	u := uses{newUse(), map[string]*use{"": newUse()}}
	u.all.rules, u.of[""].rules = closed, closed
	for _, m := range s.Members {
		u.of[m.Owner.String()] = newUse()
	}
	of := func(sources []diag.Source, i int) *use {
		if i < len(sources) {
			if of := u.of[sources[i].Object()]; of != nil {
				return of
			}
		}
		return u.of[""]
	}
	secured := map[lb.CertificateID][]diag.Source{}
	for _, c := range l.Certificates {
		secured[c.ID] = c.Origin
	}
	for _, listener := range l.Listeners {
		for _, id := range listener.Certificates {
			key := portCertificate{listener.Port, id}
			if defaults[key] {
				continue
			}
			u.all.certificates[key] = 1
			for i := range max(1, len(secured[id])) {
				of(secured[id], i).certificates[key] = 1
			}
		}
		for _, r := range listener.Rules {
			owner := of(r.Origin, 0)
			u.all.rules++
			owner.rules++
			for _, id := range r.Action.Groups() {
				u.all.groups[id], owner.groups[id] = 1, 1
			}
		}
	}
	return u
}

// closedRules returns how many rules the hosts take that each namespace gave up and that are closed.
// They are in rules for the same hosts as long as an Ingress of another namespace covers them, so
// their number is that of the whole load balancer with and without them. Those that can be in one
// rule with hosts of other namespaces count as if they were not.
func closedRules(s ingress.Snapshot, whole lb.LoadBalancer,
	compiled func(ingress.Snapshot) lb.LoadBalancer) map[string]int {
	if len(s.Closed) == 0 {
		return nil
	}
	closed, hosts := s.Closed, map[string]int{}
	for _, c := range closed {
		hosts[c.GivenUpBy]++
	}
	s.Closed = nil
	rules := max(0, whole.Counts().Rules-compiled(s).Counts().Rules)
	for namespace, n := range hosts {
		hosts[namespace] = (rules*n + len(closed) - 1) / len(closed)
	}
	return hosts
}

// beyondShares returns for each concession whether it is about what a namespace takes beyond its
// equal share of an exceeded quota. Asked and kept have the members of each namespace alone, with
// and without their changes, and closed has the rules of the closed hosts that it gave up. What a
// namespace is served counts before what it asks for anew, the oldest first. What is new and does
// not fit counts for nothing.
func beyondShares(possible []concession, asked, kept map[string]ingress.Snapshot,
	closed map[string]int, whole lb.LoadBalancer, c lb.Capabilities, inUse lb.Counts,
	alone func(ingress.Snapshot) lb.LoadBalancer) []bool {
	defaults := map[portCertificate]bool{}
	for _, listener := range whole.Listeners {
		if len(listener.Certificates) > 0 {
			defaults[portCertificate{listener.Port, listener.Certificates[0]}] = true
		}
	}
	wanted := map[string]uses{} // by namespace
	for namespace, s := range asked {
		if u := usesOf(s, alone(s), closed[namespace], defaults); u.all.takes() {
			wanted[namespace] = u
		}
	}
	share := shareOf(whole, c, inUse, max(1, len(wanted)))
	served, taken := map[string]uses{}, map[string]*use{}
	for namespace, u := range wanted {
		if newUse().exceeds(*u.all, *newUse(), share) {
			s := kept[namespace]
			served[namespace] = usesOf(s, alone(s), closed[namespace], defaults)
			taken[namespace] = served[namespace].of[""]
		}
	}
	beyond := make([]bool, len(possible))
	for i, p := range slices.Backward(possible) {
		namespace, name := p.Owner.Namespace, p.Owner.String()
		of, last, less := taken[namespace], served[namespace].of[name], newUse()
		more := wanted[namespace].of[name]
		if last != nil && p.all {
			more = last
		} else if last != nil {
			less = last
		}
		if of == nil || more == nil {
			continue
		}
		if beyond[i] = of.exceeds(*more, *less, share); !beyond[i] || p.all {
			of.replace(*less, *more)
		}
	}
	return beyond
}

// takes reports whether a use has any resource.
func (u *use) takes() bool { return u.rules+len(u.groups)+len(u.certificates) > 0 }

// shareOf returns an equal share of each quota that a load balancer exceeds; 0 for the others.
func shareOf(l lb.LoadBalancer, c lb.Capabilities, inUse lb.Counts, namespaces int) lb.Counts {
	have, most := l.Counts(), c.Limits()
	share := func(have, most, inUse int) int {
		if room := max(most, inUse); most > 0 && have > room {
			return max(1, room/namespaces)
		}
		return 0
	}
	return lb.Counts{
		Rules:        share(have.Rules, most.Rules, inUse.Rules),
		TargetGroups: share(have.TargetGroups, most.TargetGroups, inUse.TargetGroups),
		Certificates: share(have.Certificates, most.Certificates, inUse.Certificates),
	}
}

// exceeds reports whether a use would exceed a share with more, and less of what it has.
func (u *use) exceeds(more, less use, share lb.Counts) bool {
	exceeds := func(n, share int) bool { return share > 0 && n > share }
	return exceeds(u.rules-less.rules+more.rules, share.Rules) ||
		exceeds(sizeWith(u.groups, less.groups, more.groups), share.TargetGroups) ||
		exceeds(sizeWith(u.certificates, less.certificates, more.certificates), share.Certificates)
}

// replace takes less from a use, and adds more.
func (u *use) replace(less, more use) {
	u.rules += more.rules - less.rules
	replace(u.groups, less.groups, more.groups)
	replace(u.certificates, less.certificates, more.certificates)
}

func replace[K comparable](counts, less, more map[K]int) {
	for k, n := range more {
		counts[k] += n
	}
	for k, n := range less {
		if counts[k] -= n; counts[k] == 0 {
			delete(counts, k)
		}
	}
}

// sizeWith returns the number of different resources after a replacement.
func sizeWith[K comparable](counts, less, more map[K]int) int {
	size := len(counts)
	for k := range more {
		if counts[k] == 0 {
			size++
		}
	}
	for k, n := range less {
		if counts[k] == n && more[k] == 0 {
			size--
		}
	}
	return size
}
