package snapshots

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/members"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/routing"
)

// This file finds the members that are not served yet as they are, and takes such changes back: the
// last accepted version of the member is served, or the member is left out.

// Changes are the members whose present version is not served yet: those that never were,
// newest first, then those that changed, newest first.
func (s Snapshot) Changes() []members.Member {
	var fresh, changed []members.Member
	for _, m := range slices.Backward(s.Members) {
		r := s.Memory.Members[objects.NameOf(m.Ingress).String()]
		switch {
		case m.Leaving:
		case !r.Served:
			fresh = append(fresh, m)
		case r.LastAccepted != nil && !r.LastAccepted.IsVersionOf(m.Ingress):
			changed = append(changed, m)
		}
	}
	return append(fresh, changed...)
}

// Refuse is the snapshot with each of these changes taken back: the member as it was last
// accepted, or not at all.
func (s Snapshot) Refuse(changes []members.Member) Snapshot {
	refused := map[objects.Name]bool{}
	for _, m := range changes {
		refused[objects.NameOf(m.Ingress)] = true
	}
	members := s.Members
	s.Members, s.Diagnostics = nil, slices.Clone(s.Diagnostics)
	for _, m := range members {
		if !refused[objects.NameOf(m.Ingress)] {
			s.Members = append(s.Members, m)
		} else if r := s.Memory.Members[objects.NameOf(m.Ingress).String()]; r.Served &&
			r.LastAccepted != nil {
			last, withdrawn, ok := LastAccepted(&s.Class, s.Key, m.Ingress, r.LastAccepted)
			switch {
			case ok:
				s.Members = append(s.Members, last)
				s.TellKept(m.Ingress)
			case withdrawn != "":
				s.Diagnostics = append(s.Diagnostics, TellWithdrawn(m.Ingress, s.Key, withdrawn))
			}
		}
	}
	return s
}

// Without is the snapshot without some members, whatever was served of them. Those of the owner of
// a group across namespaces go on deciding about the whole load balancer and its ports: to leave
// out what they serve is no reason to protect the others less.
func (s Snapshot) Without(members []members.Member) Snapshot {
	out := map[objects.Name]bool{}
	for _, m := range members {
		out[objects.NameOf(m.Ingress)] = true
	}
	all := s.Members
	s.Members = nil
	for _, m := range all {
		if !out[objects.NameOf(m.Ingress)] {
			s.Members = append(s.Members, m)
		} else if group := s.Key.SharedGroup(); group != "" &&
			s.Class.CountsSettingsOf(m.Namespace, group) {
			m.Unserved = true
			s.Members = append(s.Members, m)
		}
	}
	return s
}

// Ends reports whether what a load balancer serves is to end, which the class has withdrawn its
// consent to: of an Ingress that is no member any more, or of all members, so that none is left in
// what was made of them.
func (s Snapshot) Ends(made routing.Config) bool {
	return s.Withdrawn || len(made.Members) == 0 &&
		slices.ContainsFunc(s.Members, func(m members.Member) bool { return !m.Unserved })
}

// TellKept tells the owner of an Ingress that its last accepted version is a member.
func (s *Snapshot) TellKept(ing *networkingv1.Ingress) {
	s.Diagnostics = append(s.Diagnostics, diag.Diagnostic{
		Severity: diag.Warning, Reason: diag.LastGood, Source: objects.SourceOf(ing),
		Message: fmt.Sprintf("its last accepted version keeps being served by %s", s.Key),
	})
}

// LastAcceptedMembers are the members as they were last accepted. What these depend on has to be at
// hand, too: what is served stays, where a change of it does not fit.
func (s Snapshot) LastAcceptedMembers() []members.Member { return s.Refuse(s.Changes()).Members }

// NeedsNodes reports whether requests of some member are sent to Nodes.
func (s Snapshot) NeedsNodes() bool {
	return slices.ContainsFunc(slices.Concat(s.Members, s.LastAcceptedMembers()),
		func(m members.Member) bool { return m.Settings.TargetType == v1alpha1.TargetTypeInstance })
}
