package ingress

import (
	"fmt"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides which load balancer an Ingress belongs to. The key has all properties that
// cannot change in place, so a change of one is a move to another load balancer.

// keyOf returns the load balancer of an Ingress of the class, whose namespace has the given labels,
// or a diagnostic if it may not join its group.
func keyOf(c *Class, ing *networkingv1.Ingress, s settings.Values,
	namespace map[string]string) (routing.Key, *diag.Diagnostic) {
	whose := []string{c.Name, ing.Namespace, ing.Name}
	if s.Group != "" {
		whose[2] = "@" + s.Group
		for _, g := range c.Groups {
			if g.Name != s.Group {
				continue
			}
			if !selects(&g.NamespaceSelector, namespace) {
				d := aboutAnnotation(ing, settings.Group, diag.Error, diag.GroupNotAllowed,
					fmt.Sprintf("class %s does not let namespace %s join its group %s", c.Name, ing.Namespace,
						s.Group))
				return "", &d
			}
			whose = []string{c.Name, "@" + s.Group}
		}
	}
	name := s.LoadBalancerName
	if name == "" && c.Adoption != nil {
		name = adoptedName(c.Adoption, alb.Stack(ing.Namespace, ing.Name, s.Group), s.Scheme)
	}
	return routing.NewKey(whose, s.Scheme, c.ProviderName, name), nil
}

// adoptedName returns the name of the load balancer that another controller has for a stack.
func adoptedName(a *v1alpha1.Adoption, stack, scheme string) string {
	at := slices.IndexFunc(a.Names, func(n v1alpha1.AdoptedName) bool { return n.Stack == stack })
	if at >= 0 {
		return a.Names[at].Name
	}
	return alb.LoadBalancerName(a.ClusterName, stack, scheme)
}

// reportGroups reports groups that need several load balancers because their members have different
// schemes or names.
func reportGroups(snapshots map[routing.Key]*Snapshot) {
	groups := map[string][]routing.Key{}
	for _, key := range slices.Sorted(maps.Keys(snapshots)) {
		groups[key.Whose()] = append(groups[key.Whose()], key)
	}
	for _, keys := range groups {
		for _, key := range keys {
			reportOthers(snapshots[key], keys, snapshots)
		}
	}
}

// reportNames reports load balancers of one name, of classes that take over those of another controller. It has a single
// one for a group in all namespaces.
func reportNames(snapshots map[routing.Key]*Snapshot) {
	named := map[string][]routing.Key{}
	for _, key := range slices.Sorted(maps.Keys(snapshots)) {
		if s := snapshots[key]; s.Class.Adoption != nil && key.Name() != "" && staying(s) != nil {
			id := key.Provider() + "=" + key.Name()
			named[id] = append(named[id], key)
		}
	}
	for _, keys := range named {
		for _, key := range keys {
			others := slices.DeleteFunc(slices.Clone(keys), func(k routing.Key) bool { return k == key })
			if len(others) > 0 {
				reportSameName(snapshots[key], others[0], staying(snapshots[others[0]]))
			}
		}
	}
}

// reportSameName reports to the members of a load balancer that another one has its name.
func reportSameName(s *Snapshot, other routing.Key, member *Member) {
	for _, m := range s.Members {
		if m.Leaving {
			continue
		}
		annotation, help := settings.LoadBalancerName, "ask for different names"
		if m.Settings.Group != "" {
			annotation, help = settings.Group, "list the group in the class to have them in one"
		}
		s.Diagnostics = append(s.Diagnostics, aboutAnnotation(m.Ingress, annotation, diag.Warning, diag.NameTaken,
			fmt.Sprintf("one load balancer has the name %s, and %s is to have it as well, as %s: %s", s.Key.Name(),
				member.Owner, other, help)))
	}
}

// staying returns the oldest member of a load balancer that does not leave it; nil if there is none.
func staying(s *Snapshot) *Member {
	if at := slices.IndexFunc(s.Members, func(m Member) bool { return !m.Leaving }); at >= 0 {
		return &s.Members[at]
	}
	return nil
}

// reportOthers reports the other load balancers of a group to the members of one.
func reportOthers(s *Snapshot, keys []routing.Key,
	snapshots map[routing.Key]*Snapshot) {
	for _, other := range keys {
		member := staying(snapshots[other])
		if other == s.Key || member == nil {
			continue
		}
		annotation, why := settings.Scheme, fmt.Sprintf("%s is %s", member.Owner, other.Scheme())
		if s.Key.Scheme() == other.Scheme() {
			asked := other.Name()
			if snapshots[other].Class.Adoption != nil {
				asked = member.Settings.LoadBalancerName
			}
			annotation, why = settings.LoadBalancerName, fmt.Sprintf("%s asks for %s", member.Owner, describeName(asked))
		}
		for _, m := range s.Members {
			if !m.Leaving {
				s.Diagnostics = append(s.Diagnostics, settingConflict(m, annotation,
					"the group is several load balancers, because "+why))
			}
		}
	}
}

// describeName returns the wanted name of a load balancer for messages.
func describeName(name string) string {
	if name == "" {
		return "no name"
	}
	return "the name " + name
}
