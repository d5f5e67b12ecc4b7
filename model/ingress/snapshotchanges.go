package ingress

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// This file finds members whose present version is not served yet, and reverts such changes: the
// last accepted version of the member is served, or the member is left out.

// Changes returns the members whose present version is not served yet: first members that were
// never served, then members that changed, each newest first.
func (s Snapshot) Changes() []Member {
	var fresh, changed []Member
	for _, m := range slices.Backward(s.Members) {
		r := s.memoryOf(m)
		switch {
		case m.Leaving:
		case !r.Served:
			fresh = append(fresh, m)
		case r.HasChanged(m.Ingress):
			changed = append(changed, m)
		}
	}
	return append(fresh, changed...)
}

// Refuse returns the snapshot without some changes. It has the last accepted version of each of
// these members, or none.
func (s Snapshot) Refuse(changes []Member) Snapshot {
	refused := map[Name]bool{}
	for _, m := range changes {
		refused[nameOf(m.Ingress)] = true
	}
	members := s.Members
	s.Members, s.Diagnostics = nil, slices.Clone(s.Diagnostics)
	for _, m := range members {
		if !refused[nameOf(m.Ingress)] {
			s.Members = append(s.Members, m)
		} else if r := s.memoryOf(m); r.Served && r.LastAccepted != nil {
			last, withdrawn, ok := lastAccepted(&s.Class, s.Key, m.Ingress, r.LastAccepted)
			switch {
			case ok:
				s.Members = append(s.Members, last)
				s.addKept(m.Ingress)
			case withdrawn != "":
				s.Diagnostics = append(s.Diagnostics, tellWithdrawn(m.Ingress, s.Key, withdrawn))
			}
		}
	}
	return s
}

// Without returns the snapshot without some members and their last accepted versions. In a group
// across namespaces, the settings of the owner's members still apply to the load balancer and its
// ports, so that the other members are protected as before.
func (s Snapshot) Without(members []Member) Snapshot {
	out := map[Name]bool{}
	for _, m := range members {
		out[nameOf(m.Ingress)] = true
	}
	return s.leaveOut(func(m *Member) bool { return out[nameOf(m.Ingress)] })
}

// Alone returns the snapshot for each namespace as if it had the load balancer alone: with its own
// members and objects. It is without targets, as no rule depends on them, and without closed hosts,
// as these are answered by another namespace.
func (s Snapshot) Alone() map[string]Snapshot {
	services, backends := byNamespace(s.Services), byNamespace(s.Backends)
	secrets, namespaces := byNamespace(s.Secrets), byName(s.Namespaces)
	s.Ingresses, s.EndpointSlices, s.Pods, s.Diagnostics = nil, nil, nil, nil
	s.Closed, s.Stays = nil, nil
	out := map[string]Snapshot{}
	for namespace := range byNamespace(s.Members) {
		of := s.leaveOut(func(m *Member) bool { return m.Namespace != namespace })
		of.Services, of.Backends, of.Secrets = services[namespace], backends[namespace], secrets[namespace]
		of.Namespaces = nil
		if known := namespaces[Name{Name: namespace}]; known != nil {
			of.Namespaces = []*corev1.Namespace{known}
		}
		out[namespace] = of
	}
	return out
}

// leaveOut returns the snapshot without some members, except their settings that still apply.
func (s Snapshot) leaveOut(out func(*Member) bool) Snapshot {
	group := s.Key.SharedGroup()
	all := s.Members
	s.Members = nil
	for i := range all {
		if !out(&all[i]) {
			s.Members = append(s.Members, all[i])
		} else if group != "" && s.Class.countsSettingsOf(all[i].Namespace, group) {
			s.Members = append(s.Members, all[i])
			s.Members[len(s.Members)-1].Unserved = true
		}
	}
	return s
}

// Ends reports whether a load balancer has to stop serving routes that the class no longer permits:
// those of an Ingress that is no longer a member, or those of all members, so that the compiled
// configuration has none.
func (s Snapshot) Ends(made routing.Config) bool {
	return s.Withdrawn || len(made.Members) == 0 &&
		slices.ContainsFunc(s.Members, func(m Member) bool { return !m.Unserved })
}

// addKept adds a diagnostic that the last accepted version of an Ingress is served.
func (s *Snapshot) addKept(ing *networkingv1.Ingress) {
	s.Diagnostics = append(s.Diagnostics, diag.Diagnostic{
		Severity: diag.Warning, Reason: diag.LastGood, Source: sourceOfIngress(ing),
		Message: fmt.Sprintf("its last accepted version keeps being served by %s", s.Key),
	})
}

// versions yields the members, and then the last accepted versions of changed ones, and of those
// that have departed. Their objects have to be read, too, because these versions are served if a
// change is refused.
func (s Snapshot) versions() iter.Seq[Member] {
	return func(yield func(Member) bool) {
		for _, m := range s.Members {
			if !yield(m) {
				return
			}
		}
		for _, m := range s.Members {
			r := s.memoryOf(m)
			if m.Leaving || !r.HasChanged(m.Ingress) {
				continue
			}
			if last, _, ok := lastAccepted(&s.Class, s.Key, m.Ingress, r.LastAccepted); ok && !yield(last) {
				return
			}
		}
		for _, m := range s.departed(nil) {
			if !yield(m) {
				return
			}
		}
	}
}

// departed returns the last accepted versions of the Ingresses of the record that are not members
// any more. Those that still exist are in known.
func (s Snapshot) departed(known map[string]*networkingv1.Ingress) (out []Member) {
	stay := map[string]bool{}
	for _, m := range s.Members {
		stay[m.Owner.String()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.Recorded.Members)) {
		r := s.Recorded.Members[name]
		if stay[name] || !r.CanBeServed() {
			continue
		}
		ing := known[name]
		if ing == nil {
			ing = r.Ingress(name)
		}
		if m, _, ok := lastAccepted(&s.Class, s.Key, ing, r.LastAccepted); ok {
			out = append(out, m)
		}
	}
	return out
}

// NeedsNodes reports whether the requests of any member are sent to Nodes.
func (s Snapshot) NeedsNodes() bool {
	for m := range s.versions() {
		if m.Settings.TargetType == v1alpha1.TargetTypeInstance {
			return true
		}
	}
	return slices.ContainsFunc(s.Services, func(service *corev1.Service) bool {
		return asksForNodes(service, &s.Class)
	})
}

// memoryOf returns the record of a member.
func (s Snapshot) memoryOf(m Member) record.Member {
	return s.Recorded.Members[nameOf(m.Ingress).String()]
}
