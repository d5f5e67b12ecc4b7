package ingress

import (
	"fmt"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
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
	return routing.NewKey(whose, s.Scheme, c.ProviderName, s.LoadBalancerName), nil
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

// reportOthers reports the other load balancers of a group to the members of one.
func reportOthers(s *Snapshot, keys []routing.Key,
	snapshots map[routing.Key]*Snapshot) {
	for _, other := range keys {
		staying := slices.IndexFunc(snapshots[other].Members,
			func(m Member) bool { return !m.Leaving })
		if other == s.Key || staying < 0 {
			continue
		}
		annotation, why := settings.Scheme, fmt.Sprintf("%s is %s",
			snapshots[other].Members[staying].Owner, other.Scheme())
		if s.Key.Scheme() == other.Scheme() {
			annotation, why = settings.LoadBalancerName, fmt.Sprintf("%s asks for %s",
				snapshots[other].Members[staying].Owner, describeName(other.Name()))
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
