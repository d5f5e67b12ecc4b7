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

// This file bounds the load balancers that a namespace may have of a class. Otherwise a namespace
// could use up the account's quota: one Ingress at a time, if the class keeps load balancers, or
// one Ingress that moves from group to group. Each load balancer counts from the moment an Ingress
// is placed there until its record is dropped.

// needsRoom returns a diagnostic for an Ingress that needs one more load balancer than its
// namespace may have. The load balancers of a group across namespaces are counted for the group.
func (s *placement) needsRoom(ing *networkingv1.Ingress, key routing.Key,
	class *Class) []diag.Diagnostic {
	most := class.MostLoadBalancers()
	if most == 0 {
		return nil
	}
	all := s.balancersOf(key.Tenant())
	if _, exists := all[key]; exists || len(all) < most {
		all[key] = true
		return nil
	}
	return []diag.Diagnostic{{Severity: diag.Error, Reason: diag.LoadBalancerQuota,
		Source: sourceOfIngress(ing), Message: describeBound(key, class, all)}}
}

// balancersOf returns the load balancers of a tenant.
func (s *placement) balancersOf(tenant string) map[routing.Key]bool {
	if out := s.balancers[tenant]; out != nil {
		return out
	}
	out := map[routing.Key]bool{}
	if s.existing != nil {
		maps.Copy(out, s.existing(tenant))
	}
	for key, known := range s.records {
		if key.Tenant() == tenant {
			out[key] = out[key] || len(known.Members) > 0
		}
	}
	s.balancers[tenant] = out
	return out
}

// describeBound returns the message of a refusal, with the load balancers that count.
func describeBound(key routing.Key, class *Class, all map[routing.Key]bool) string {
	var used, kept []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if all[k] {
			used = append(used, string(k))
		} else {
			kept = append(kept, string(k))
		}
	}
	whose, end := "the namespace", "use one of them, with the annotation fairlead.dev/group"
	if key.AcrossNamespaces() {
		whose, end = "group "+key.SharedGroup(), "use one of them"
	}
	message := fmt.Sprintf("%s has %d load balancers of class %s, which lets it have %d, and this "+
		"would be one more, so it is not served as it is: ", whose, len(all), class.Name,
		class.MostLoadBalancers())
	if len(used) > 0 {
		message += "Ingresses belong to " + list(used) + "; "
	}
	if len(kept) > 0 {
		message += "without Ingresses are " + list(kept) + "; "
	}
	return message + end + ", or ask the owner of the class for a higher " +
		"loadBalancers.perNamespace, or to delete one without Ingresses"
}

// list returns the first keys of a list.
func list(keys []string) string {
	const most = 10
	if len(keys) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(keys[:most], ", "), len(keys)-most)
	}
	return strings.Join(keys, ", ")
}
