package model

import (
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// This file keeps an equal share of each quota for each namespace of a load balancer. What a
// namespace takes beyond its share gives way before anything within the share of another one,
// whether it is new, changed or served: of what a namespace asks for, the newest is beyond.

// A use has the resources of quotas that an Ingress, or a namespace, takes. Shared ones count for
// each.
type use struct {
	rules        int
	groups       map[lb.GroupID]bool
	certificates map[portCertificate]bool
}

// A portCertificate is a certificate on a port.
type portCertificate struct {
	port int32
	id   lb.CertificateID
}

func newUse() *use {
	return &use{groups: map[lb.GroupID]bool{}, certificates: map[portCertificate]bool{}}
}

// usesOf returns what each Ingress, by namespace/name, takes of a load balancer.
func usesOf(l lb.LoadBalancer) map[string]*use {
	out := map[string]*use{}
	of := func(object string) *use {
		if out[object] == nil {
			out[object] = newUse()
		}
		return out[object]
	}
	secured := map[lb.CertificateID][]string{}
	for _, c := range l.Certificates {
		for _, source := range c.Origin {
			secured[c.ID] = append(secured[c.ID], source.Object())
		}
	}
	for _, listener := range l.Listeners {
		for _, id := range listener.Certificates {
			for _, object := range secured[id] {
				of(object).certificates[portCertificate{listener.Port, id}] = true
			}
		}
		for _, r := range listener.Rules {
			var counted []string
			for _, source := range r.Origin {
				object := source.Object()
				if slices.Contains(counted, object) {
					continue
				}
				counted = append(counted, object)
				of(object).rules++
				for _, id := range r.Action.Groups() {
					of(object).groups[id] = true
				}
			}
		}
	}
	return out
}

// beyondShares returns for each concession whether it is about what a namespace takes beyond its
// equal share of an exceeded quota. Kept is the load balancer without changes. What a namespace is
// served counts before what it asks for anew, the oldest first. What is new and does not fit counts
// for nothing.
func beyondShares(possible []concession, whole, kept lb.LoadBalancer, c lb.Capabilities,
	inUse lb.Counts) []bool {
	beyond := make([]bool, len(possible))
	asked, served := usesOf(whole), usesOf(kept)
	taken := map[string]*use{} // by namespace
	for object := range asked {
		namespace, _, _ := strings.Cut(object, "/")
		taken[namespace] = newUse()
	}
	share := shareOf(whole, c, inUse, len(taken))
	for i, p := range slices.Backward(possible) {
		of, more, less := taken[p.Owner.Namespace], asked[p.Owner.String()], 0
		if last := served[p.Owner.String()]; last != nil && p.all {
			more = last
		} else if last != nil {
			less = last.rules
		}
		if of == nil || more == nil {
			continue
		}
		if beyond[i] = of.exceeds(*more, less, share); !beyond[i] || p.all {
			of.add(*more, less)
		}
	}
	return beyond
}

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

// exceeds reports whether a use and more would exceed a share, with some rules less.
func (u *use) exceeds(more use, less int, share lb.Counts) bool {
	exceeds := func(n, share int) bool { return share > 0 && n > share }
	return exceeds(u.rules+more.rules-less, share.Rules) ||
		exceeds(sizeWith(u.groups, more.groups), share.TargetGroups) ||
		exceeds(sizeWith(u.certificates, more.certificates), share.Certificates)
}

func (u *use) add(more use, less int) {
	u.rules += more.rules - less
	maps.Copy(u.groups, more.groups)
	maps.Copy(u.certificates, more.certificates)
}

// sizeWith returns the size of a set with the elements of another one.
func sizeWith[K comparable](set, more map[K]bool) int {
	n := len(set)
	for k := range more {
		if !set[k] {
			n++
		}
	}
	return n
}
