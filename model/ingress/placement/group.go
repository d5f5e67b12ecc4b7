package placement

import (
	"fmt"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/classes"
	"fairlead.dev/fairlead/model/ingress/members"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/ingress/snapshots"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides which load balancer an Ingress belongs to. What cannot change in place is in
// the key, so a change of it is a move to another load balancer.

// keyOf is the load balancer of an Ingress of the class, whose namespace has the given labels; a
// diagnostic says that it may not join its group.
func keyOf(c *classes.Class, ing *networkingv1.Ingress, s settings.Values,
	namespace map[string]string) (routing.Key, *diag.Diagnostic) {
	whose := []string{c.Name, ing.Namespace, ing.Name}
	if s.Group != "" {
		whose[2] = "@" + s.Group
		for _, g := range c.Groups {
			if g.Name != s.Group {
				continue
			}
			if !classes.Selects(&g.NamespaceSelector, namespace) {
				d := objects.AboutAnnotation(ing, settings.Group, diag.Error, diag.GroupNotAllowed,
					fmt.Sprintf("class %s does not let namespace %s join its group %s", c.Name, ing.Namespace,
						s.Group))
				return "", &d
			}
			whose = []string{c.Name, "@" + s.Group}
		}
	}
	return routing.NewKey(whose, s.Scheme, c.ProviderName, s.LoadBalancerName), nil
}

// tellGroups tells the members of groups that are several load balancers because they ask for
// different schemes or names.
func tellGroups(snapshots map[routing.Key]*snapshots.Snapshot) {
	groups := map[string][]routing.Key{}
	for _, key := range slices.Sorted(maps.Keys(snapshots)) {
		groups[key.Whose()] = append(groups[key.Whose()], key)
	}
	for _, keys := range groups {
		for _, key := range keys {
			tellOthers(snapshots[key], keys, snapshots)
		}
	}
}

// tellOthers tells the members of one load balancer of a group which others there are.
func tellOthers(s *snapshots.Snapshot, keys []routing.Key,
	snapshots map[routing.Key]*snapshots.Snapshot) {
	for _, other := range keys {
		staying := slices.IndexFunc(snapshots[other].Members,
			func(m members.Member) bool { return !m.Leaving })
		if other == s.Key || staying < 0 {
			continue
		}
		annotation, why := settings.Scheme, fmt.Sprintf("%s is %s",
			snapshots[other].Members[staying].Owner, other.Scheme())
		if s.Key.Scheme() == other.Scheme() {
			annotation, why = settings.LoadBalancerName, fmt.Sprintf("%s asks for %s",
				snapshots[other].Members[staying].Owner, inWords(other.Name()))
		}
		for _, m := range s.Members {
			if !m.Leaving {
				s.Diagnostics = append(s.Diagnostics, members.SettingConflict(m, annotation,
					"the group is several load balancers, because "+why))
			}
		}
	}
}

// inWords returns the name that a load balancer is to have, in words.
func inWords(name string) string {
	if name == "" {
		return "no name"
	}
	return "the name " + name
}
