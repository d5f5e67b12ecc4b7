package model

import (
	"reflect"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/model/settings"
)

// This file computes the least number of rules and target groups that members need. If this exceeds
// the quotas, the load balancer is not compiled. So refusing thousands of members takes about as
// long as compiling them once.

// A need has the resources that a load balancer needs at least for a member, with any other
// members.
type need struct {
	rules  int
	groups []lb.GroupID
	// Apart: no other member names the hosts of this one, so its needs add to those of the others.
	apart bool
}

// needs has the needs of concessions, and of the other members.
type needs struct {
	limits lb.Counts
	of     []need // by the index of a concession

	rules  int                // the sum for all served members
	groups map[lb.GroupID]int // the number of served members that need a target group
	// the rules and target groups of the last compiled load balancer that fits
	have       int
	haveGroups map[lb.GroupID]bool
}

// newNeeds returns the needs of members, from the load balancer with all of them. At first, all are
// served.
func newNeeds(s ingress.Snapshot, kept []ingress.Member, whole Built, c lb.Capabilities,
	inUse lb.Counts, possible []concession) *needs {
	byMember := needsOf(s, kept, whole)
	if len(byMember) == 0 {
		return nil
	}
	n := &needs{of: make([]need, len(possible)), groups: map[lb.GroupID]int{}}
	n.limits = c.Limits()
	if n.limits.Rules > 0 {
		n.limits.Rules = max(n.limits.Rules, inUse.Rules)
	}
	if n.limits.TargetGroups > 0 {
		n.limits.TargetGroups = max(n.limits.TargetGroups, inUse.TargetGroups)
	}
	for i, m := range possible {
		n.of[i] = byMember[m.Owner.String()]
	}
	for _, of := range byMember {
		n.add(of)
	}
	return n
}

func (n *needs) add(of need) {
	n.rules += of.rules
	for _, id := range of.groups {
		n.groups[id]++
	}
}

// serve records that members are served, as their concessions are undone.
func (n *needs) serve(back ...int) {
	if n == nil {
		return
	}
	for _, i := range back {
		n.add(n.of[i])
	}
}

// concede records that a member is not served.
func (n *needs) concede(i int) {
	if n == nil {
		return
	}
	n.rules -= n.of[i].rules
	for _, id := range n.of[i].groups {
		if n.groups[id]--; n.groups[id] == 0 {
			delete(n.groups, id)
		}
	}
}

// note records a load balancer that fits. Later ones have its members and more.
func (n *needs) note(fits lb.LoadBalancer) {
	if n == nil {
		return
	}
	n.have, n.haveGroups = fits.Counts().Rules, map[lb.GroupID]bool{}
	for i := range fits.TargetGroups {
		n.haveGroups[fits.TargetGroups[i].ID] = true
	}
}

// exceeded reports whether the served members, and those whose concessions would be undone,
// certainly need more than the quotas.
func (n *needs) exceeded(back ...int) bool {
	if n == nil {
		return false
	}
	rules, apart := 0, n.have > 0
	// that are added to those of members, and to the present ones
	var groups, more map[lb.GroupID]bool
	for _, i := range back {
		of := &n.of[i]
		rules, apart = rules+of.rules, apart && of.apart
		if n.limits.Rules > 0 && n.rules+rules > n.limits.Rules {
			return true
		}
		for _, id := range of.groups {
			if n.groups[id] == 0 {
				groups = with(groups, id)
			}
			if !n.haveGroups[id] {
				more = with(more, id)
			}
		}
		if n.limits.TargetGroups > 0 && len(n.groups)+len(groups) > n.limits.TargetGroups {
			return true
		}
	}
	return n.limits.Rules > 0 && n.rules+rules > n.limits.Rules ||
		n.limits.TargetGroups > 0 && len(n.groups)+len(groups) > n.limits.TargetGroups ||
		apart && (n.limits.Rules > 0 && n.have+rules > n.limits.Rules ||
			n.limits.TargetGroups > 0 && len(n.haveGroups)+len(more) > n.limits.TargetGroups)
}

func with(ids map[lb.GroupID]bool, id lb.GroupID) map[lb.GroupID]bool {
	if ids == nil {
		ids = map[lb.GroupID]bool{}
	}
	ids[id] = true
	return ids
}

// needsOf returns the needs of members by name, from the load balancer with all of them. Kept has
// the members if all changes are refused.
//
// A route that is reached beside all members is reached beside some of them, and routes of two
// members, or with two actions, never share a rule. So a member has a rule for each of its actions.
// That does not hold where members decide about each other in other ways: where a member has a
// default backend, or a rule without a host, whose rule can be left out for another one's; where an
// older version may come back that names the same host; and where members differ about whole ports.
func needsOf(s ingress.Snapshot, kept []ingress.Member, whole Built) map[string]need {
	if !sameSettings(slices.Concat(s.Members, kept)) {
		return nil
	}
	present := make(map[*networkingv1.Ingress]bool, len(s.Members))
	namers := map[string]int{} // the number of members that name each host
	for _, m := range s.Members {
		present[m.Ingress] = true
		for host := range hostsOf(m.Ingress) {
			namers[host]++
		}
	}
	// members with an older version, and its hosts
	older, unsure := map[string]bool{}, map[string]bool{}
	for _, m := range kept {
		if !present[m.Ingress] {
			older[m.Owner.String()] = true
			for host := range hostsOf(m.Ingress) {
				unsure[host] = true
			}
		}
	}
	needs := map[string]need{}
	for _, m := range s.Members {
		hosts := hostsOf(m.Ingress)
		known := !m.Unserved && !older[m.Owner.String()] && m.Spec.DefaultBackend == nil && !hosts[""]
		apart := s.Class.HostMissMeaning() == routing.MissAnswers
		for host := range hosts {
			known = known && !unsure[host]
			apart = apart && namers[host] == 1 && !routing.Host(host).Wildcard()
		}
		if known {
			needs[m.Owner.String()] = need{apart: apart}
		}
	}
	countActions(needs, whole.Table)
	countOwnRules(needs, whole.LoadBalancer)
	return needs
}

// hostsOf returns the hosts of the rules of an Ingress; "" for a rule without one.
func hostsOf(ing *networkingv1.Ingress) map[string]bool {
	hosts := make(map[string]bool, len(ing.Spec.Rules))
	for i := range ing.Spec.Rules {
		hosts[ing.Spec.Rules[i].Host] = true
	}
	return hosts
}

// sameSettings reports whether all members have the same settings of whole ports and load
// balancers.
func sameSettings(all []ingress.Member) bool {
	asks := func(v settings.Values) any {
		return []any{v.Ports, v.InboundAsked(), v.WebACLAsked(), v.TLSPolicyAsked(), v.Shield}
	}
	for i := range all {
		if all[i].Settings.Uncounted != nil ||
			i > 0 && !reflect.DeepEqual(asks(all[i].Settings), asks(all[0].Settings)) {
			return false
		}
	}
	return true
}

// countActions counts a rule for each action of a member on each port, and collects the target
// groups of these.
func countActions(needs map[string]need, table *precedence.Table) {
	type rule struct {
		port          int32
		owner, action string
	}
	counted := map[rule]bool{}
	for _, l := range table.Listeners {
		for _, level := range table.Levels(l.Port) {
			live, _ := level.Reachable()
			for _, r := range live {
				owner := r.Owner.String()
				of, known := needs[owner]
				if !known {
					continue
				}
				action := lb.FromRouting(r.Action.On(l.Protocol))
				key := rule{l.Port, owner, action.Key()}
				if counted[key] {
					continue
				}
				counted[key] = true
				of.rules++
				for _, id := range action.Groups() {
					if !slices.Contains(of.groups, id) {
						of.groups = append(of.groups, id)
					}
				}
				needs[owner] = of
			}
		}
	}
}

// countOwnRules counts the rules of members that are apart: with fewer members they are the same.
func countOwnRules(needs map[string]need, l lb.LoadBalancer) {
	rules := map[string]int{}
	for _, listener := range l.Listeners {
		for _, r := range listener.Rules {
			for i, source := range r.Origin {
				if i > 0 && source.Object() != r.Origin[0].Object() {
					break
				}
				if i == len(r.Origin)-1 {
					rules[ingress.Name{Namespace: source.Namespace, Name: source.Name}.String()]++
				}
			}
		}
	}
	for name, of := range needs {
		if of.apart {
			of.rules = max(of.rules, rules[name])
			needs[name] = of
		}
	}
}
