package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file limits the members of a load balancer. The records of all members are stored in one
// object of the API server, of at most 1.5 MiB (etcd.io/docs, "System limits", request size).
// Without a limit, a namespace with thousands of Ingresses could make the object too large. Then
// the load balancer could not be changed for any namespace.

const (
	// memberBytes is the size of the record of a member, without its name and without parts that can
	// be dropped.
	memberBytes = 96
	// mostMembers is the largest size of the records of all members, in bytes. That is 2,000 members
	// with the longest names, and more than 5,000 with names of 40 characters. It leaves room for the
	// other records of the load balancer (api/v1alpha1/trim.go).
	mostMembers = 704 << 10
	// arriving is the part of the room by which records may exceed it while others are being removed.
	arriving = 13
)

// sizeOf returns the approximate size of the record of a member.
func sizeOf(m Member) int { return memberBytes + len(m.Namespace) + len("/") + len(m.Name) }

// limitMembers leaves out members whose records do not fit into a number of bytes, with
// diagnostics. Every namespace has an equal share, and others get the part that it does not need.
// If the members of a namespace exceed its share, the newest are left out.
func limitMembers(s *Snapshot, room int) {
	most := room + room/arriving
	all, total := map[string][]Member{}, 0
	for _, m := range s.Members {
		all[m.Namespace], total = append(all[m.Namespace], m), total+sizeOf(m)
	}
	left := leftOver(s)
	if total+left <= room {
		return
	}
	need := map[string]int{}
	for namespace, members := range all {
		for _, m := range members {
			need[namespace] += sizeOf(m)
		}
	}
	namespaces := slices.SortedFunc(maps.Keys(all),
		func(a, b string) int { return cmp.Or(cmp.Compare(need[a], need[b]), cmp.Compare(a, b)) })
	var stays, arrives []Member
	for i, namespace := range namespaces {
		share := room / (len(namespaces) - i)
		slices.SortStableFunc(all[namespace], func(a, b Member) int {
			if known := cmp.Compare(rankOf(s, a), rankOf(s, b)); known != 0 {
				return known
			}
			return routing.Older(a.Owner, b.Owner)
		})
		for at, m := range all[namespace] {
			if share -= sizeOf(m); share < 0 && rankOf(s, m) > leaves {
				leaveOut(s, all[namespace][at:],
					fmt.Sprintf("namespace %s has more Ingresses on this load balancer than there is room for "+
						"beside those of others", namespace))
				break
			}
			room -= sizeOf(m)
			if rankOf(s, m) < isNew {
				stays = append(stays, m)
			} else {
				arrives = append(arrives, m)
			}
		}
	}
	s.Members = stays
	used := leftOver(s) // including those that were just left out
	for _, m := range stays {
		used += sizeOf(m)
	}
	slices.SortFunc(arrives, func(a, b Member) int { return routing.Older(a.Owner, b.Owner) })
	for at, m := range arrives {
		if used += sizeOf(m); used > most {
			leaveOut(s, arrives[at:], "there is no room on this load balancer until Ingresses of others "+
				"are let go of")
			break
		}
		s.Members = append(s.Members, m)
	}
}

// The ranks of members. Those of lower rank are kept first.
const (
	leaves = iota // it will be removed, when clients have followed it
	isKnown
	isNew
)

// rankOf returns the rank of a member.
func rankOf(s *Snapshot, m Member) int {
	_, known := s.Recorded.Members[m.Owner.String()]
	switch {
	case m.Leaving:
		return leaves
	case known:
		return isKnown
	}
	return isNew
}

// leftOver returns the size of the records of Ingresses that are no longer members.
func leftOver(s *Snapshot) int {
	members := map[string]bool{}
	for _, m := range s.Members {
		members[m.Owner.String()] = true
	}
	size := 0
	for name := range s.Recorded.Members {
		if !members[name] {
			size += memberBytes + len(name)
		}
	}
	return size
}

// leaveOut removes members from a snapshot. A diagnostic with the reason replaces all others about
// them.
func leaveOut(s *Snapshot, members []Member, why string) {
	out := map[string]bool{}
	for _, m := range members {
		out[m.Owner.String()] = true
	}
	s.Diagnostics = slices.DeleteFunc(s.Diagnostics, func(d diag.Diagnostic) bool {
		return d.Source.Kind == "Ingress" && out[d.Source.Namespace+"/"+d.Source.Name]
	})
	s.Ingresses = slices.DeleteFunc(s.Ingresses, func(ing *networkingv1.Ingress) bool {
		if !out[nameOf(ing).String()] {
			return false
		}
		s.LeftOut = append(s.LeftOut, ing)
		s.Diagnostics = append(s.Diagnostics, diag.Diagnostic{
			Severity: diag.Error, Reason: diag.TooComplex, Source: sourceOfIngress(ing),
			Message: why + ", so this one is not served: have fewer Ingresses with more rules each, give " +
				"them shorter names, or put some in another group",
		})
		return true
	})
}
