package ingress

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file decides which load balancer an Ingress belongs to. What cannot change in place is in
// the key, so a change of it is a move to another load balancer.

// keyOf is the load balancer of an Ingress of the class, whose namespace has the given labels; a
// diagnostic says that it may not join its group.
func (c *Class) keyOf(ing *networkingv1.Ingress, s settings, namespace map[string]string) (routing.Key, *diag.Diagnostic) {
	parts := []string{c.Name, ing.Namespace, ing.Name, s.scheme}
	if s.group != "" {
		parts[2] = "@" + s.group
		for _, g := range c.Groups {
			if g.Name != s.group {
				continue
			}
			if !selects(&g.NamespaceSelector, namespace) {
				d := about(ing, groupAnnotation, diag.Error, diag.GroupNotAllowed,
					fmt.Sprintf("class %s does not let namespace %s join its group %s", c.Name, ing.Namespace, s.group))
				return "", &d
			}
			parts = []string{c.Name, "@" + s.group, s.scheme}
		}
	}
	return routing.Key(strings.Join(parts, "/")), nil
}

// className is the class in a key.
func className(k routing.Key) string {
	class, _, _ := strings.Cut(string(k), "/")
	return class
}

// splitScheme is a key up to its scheme, and the scheme.
func splitScheme(k routing.Key) (string, string) {
	cut := strings.LastIndexByte(string(k), '/') + 1
	return string(k[:cut]), string(k[cut:])
}

// tellSchemes tells the members of groups that are two load balancers because they ask for
// different schemes.
func tellSchemes(snapshots map[routing.Key]*Snapshot) {
	schemes := map[string][]routing.Key{}
	for _, key := range slices.Sorted(maps.Keys(snapshots)) {
		group, _ := splitScheme(key)
		schemes[group] = append(schemes[group], key)
	}
	for _, keys := range schemes {
		for _, key := range keys {
			snapshots[key].tellOtherSchemes(keys, snapshots)
		}
	}
}

func (s *Snapshot) tellOtherSchemes(keys []routing.Key, snapshots map[routing.Key]*Snapshot) {
	for _, other := range keys {
		staying := slices.IndexFunc(snapshots[other].Members, func(m Member) bool { return !m.Leaving })
		if other == s.Key || staying < 0 {
			continue
		}
		_, scheme := splitScheme(other)
		for _, m := range s.Members {
			if !m.Leaving {
				s.Diagnostics = append(s.Diagnostics, about(m.Ingress, schemeAnnotation, diag.Warning, diag.SettingConflict,
					fmt.Sprintf("the group is two load balancers, because %s is %s", snapshots[other].Members[staying].Owner, scheme)))
			}
		}
	}
}
