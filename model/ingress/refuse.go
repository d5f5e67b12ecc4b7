package ingress

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
)

// This file takes changes back that the cloud has no room for.

// Source is where diagnostics about a member point.
func (m Member) Source() diag.Source { return sourceOf(m.Ingress) }

// Changes are the members whose present version is not served yet: those that never were,
// newest first, then those that changed, newest first.
func (s Snapshot) Changes() []Member {
	var fresh, changed []Member
	for _, m := range slices.Backward(s.Members) {
		r := s.Memory.Members[nameOf(m.Ingress).String()]
		switch {
		case m.Leaving:
		case !r.Served:
			fresh = append(fresh, m)
		case r.LastAccepted != nil && Version(r.LastAccepted.version(m.Ingress)) != Version(m.Ingress):
			changed = append(changed, m)
		}
	}
	return append(fresh, changed...)
}

// Refuse is the snapshot with each of these changes taken back: the member as it was last
// accepted, or not at all.
func (s Snapshot) Refuse(changes []Member) Snapshot {
	refused := map[name]bool{}
	for _, m := range changes {
		refused[nameOf(m.Ingress)] = true
	}
	members := s.Members
	s.Members, s.Diagnostics = nil, slices.Clone(s.Diagnostics)
	for _, m := range members {
		if !refused[nameOf(m.Ingress)] {
			s.Members = append(s.Members, m)
		} else if r := s.Memory.Members[nameOf(m.Ingress).String()]; r.Served && r.LastAccepted != nil {
			if last, ok := s.Class.lastGood(m.Ingress, r.LastAccepted); ok {
				s.Members = append(s.Members, last)
				s.tellKept(m.Ingress)
			}
		}
	}
	return s
}

// Without is the snapshot without some members, whatever was served of them. Those of the owner of a group
// across namespaces go on deciding about the whole load balancer and its ports: to leave out what they serve is
// no reason to protect the others less.
func (s Snapshot) Without(members []Member) Snapshot {
	out := map[name]bool{}
	for _, m := range members {
		out[nameOf(m.Ingress)] = true
	}
	all := s.Members
	s.Members = nil
	for _, m := range all {
		if !out[nameOf(m.Ingress)] {
			s.Members = append(s.Members, m)
		} else if group := s.Key.SharedGroup(); group != "" && s.Class.heeds(m.Namespace, group) {
			m.Unserved = true
			s.Members = append(s.Members, m)
		}
	}
	return s
}
