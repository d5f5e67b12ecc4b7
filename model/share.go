package model

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/lb"
)

// This file finds the namespaces that use more than their share of a quota. Accepted versions can
// need more without a change of any Ingress: a Backend gets more Services, a Secret is created. If
// they no longer fit, members of namespaces that use more than their share are left out before
// others, at any age.

// namespacesOverShare returns the namespaces that use more than an equal share of an exceeded
// quota.
func namespacesOverShare(l lb.LoadBalancer, c lb.Capabilities, inUse lb.Counts) map[string]bool {
	have, most := l.Counts(), c.Limits()
	rules, groups, certificates := usesOf(l)
	namespaces := map[string]bool{}
	for _, uses := range []map[string]int{rules, groups, certificates} {
		for namespace := range maps.Keys(uses) {
			namespaces[namespace] = true
		}
	}
	out := map[string]bool{}
	for _, q := range []struct {
		have, most, inUse int
		uses              map[string]int
	}{
		{have.Rules, most.Rules, inUse.Rules, rules},
		{have.TargetGroups, most.TargetGroups, inUse.TargetGroups, groups},
		{have.Certificates, most.Certificates, inUse.Certificates, certificates},
	} {
		if q.most == 0 || q.have <= max(q.most, q.inUse) {
			continue
		}
		for namespace, n := range q.uses {
			if n > q.most/len(namespaces) {
				out[namespace] = true
			}
		}
	}
	return out
}

// usesOf returns the numbers of rules, target groups and certificates of each namespace. Shared
// ones count for each of their namespaces.
func usesOf(l lb.LoadBalancer) (rules, groups, certificates map[string]int) {
	rules, groups, certificates = map[string]int{}, map[string]int{}, map[string]int{}
	secrets := map[lb.CertificateID][]string{}
	for _, c := range l.Certificates {
		for _, source := range c.Origin {
			if !slices.Contains(secrets[c.ID], source.Namespace) {
				secrets[c.ID] = append(secrets[c.ID], source.Namespace)
			}
		}
	}
	needed := map[string]map[lb.GroupID]bool{}
	for _, listener := range l.Listeners {
		for _, id := range listener.Certificates {
			for _, namespace := range secrets[id] {
				certificates[namespace]++
			}
		}
		for _, r := range listener.Rules {
			counted := map[string]bool{}
			for _, source := range r.Origin {
				if counted[source.Namespace] {
					continue
				}
				counted[source.Namespace] = true
				rules[source.Namespace]++
				for _, id := range r.Action.Groups() {
					if needed[source.Namespace] == nil {
						needed[source.Namespace] = map[lb.GroupID]bool{}
					}
					needed[source.Namespace][id] = true
				}
			}
		}
	}
	for namespace, ids := range needed {
		groups[namespace] = len(ids)
	}
	return rules, groups, certificates
}
