package loadbalancer

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file holds back Ingresses of which the record has no version, as it was full, or that are left out.
// There is nothing of them to compile. But rules of the cloud that answer requests for which an Ingress of another namespace
// would violate an expectation stay, as routes of the table.

// forgotten returns the Ingresses of other namespaces that a plan has nothing of, as they have no version or
// are left out, and that may answer the requests of an offence now: the one that does, or all of them where
// that is not known, as after a restart.
func (o outcome) forgotten(f expectations.Offence) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(o.Snapshot.Recorded.Members)) {
		m := o.Snapshot.Recorded.Members[name]
		isMissing := m.LastAccepted == nil || slices.Contains(o.Hold.Ingresses, name)
		if m.Served && isMissing && namespaceOf(name) != namespaceOf(f.Next) &&
			(f.Now == "" || f.Now == name) {
			out = append(out, name)
		}
	}
	return out
}

// keepRules has a plan made again that the expectations do not permit, with rules of the cloud that stay
// as the Ingresses that they may be of are held back. It returns the plan if that does not help.
func (o outcome) keepRules(again func(stays []routing.Route) outcome) outcome {
	var stays []routing.Route
	var of []string
	for last, pass := o, 0; last.Forbidden != ""; pass++ {
		known := len(stays)
		for _, f := range last.Expectations.Offences {
			forgotten := o.forgotten(f)
			if slices.ContainsFunc(forgotten, func(name string) bool { return !o.holds(name) }) {
				continue
			}
			for _, rule := range last.removed(f, forgotten, pass >= mostPasses) {
				for _, route := range routesOf(rule, f) {
					if !slices.ContainsFunc(stays, func(s routing.Route) bool {
						return s.Host == route.Host && s.Path == route.Path && s.When.Key() == route.When.Key() && s.Ports[0] == f.Port
					}) {
						stays, of = append(stays, route), append(of, forgotten...)
					}
				}
			}
		}
		if len(stays) == known {
			return o
		}
		if last = again(stays); last.Forbidden == "" {
			slices.Sort(of)
			last.Kept = slices.Compact(of)
			return last
		}
	}
	return o
}

// removed returns the rule of the cloud, or the default action as one, that a plan removes and that answers
// the request of an offence, or all rules for its host. They are of some Ingresses, as far as that is known.
func (o outcome) removed(f expectations.Offence, of []string, all bool) (out []lb.Rule) {
	l := o.Observed.Listener(f.Port)
	if l == nil || len(of) == 0 {
		return nil
	}
	var wanted lb.Listener
	for _, want := range o.Built.LoadBalancer.Listeners {
		if want.Port == f.Port {
			wanted = want
		}
	}
	first, action := l.Plain().Match(f.Request, o.Capabilities.Dialect)
	rules := l.Plain().Rules
	if first < 0 && !lb.SameAction(action, wanted.Default) && !lb.SameAction(action, notFound) {
		first, rules = len(rules), append(rules, lb.Rule{Action: action})
	}
	for i, rule := range rules {
		answers := i == first && !f.Undecided || (all || f.Undecided) && isOf(f.Host, rule)
		if answers && !contains(wanted.Rules, rule) && !slices.ContainsFunc(plan.NamespacesOf(rule), func(namespace string) bool {
			return !slices.ContainsFunc(of, func(name string) bool { return namespaceOf(name) == namespace })
		}) {
			out = append(out, rule)
		}
	}
	return out
}

// routesOf returns the routes of a rule that stays for the host of an offence.
func routesOf(rule lb.Rule, f expectations.Offence) []routing.Route {
	out := slices.DeleteFunc(expectations.RoutesOf(rule, f.Port), func(r routing.Route) bool {
		return !r.Host.Covers(f.Host)
	})
	if f.Now == "" {
		return out
	}
	ref := cluster.RefFrom(cluster.KindIngress, f.Now)
	for i := range out {
		out[i].Source = diag.Source{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
		out[i].Owner.Namespace, out[i].Owner.Name = ref.Namespace, ref.Name
	}
	return out
}

// keepGroups keeps the target groups of the cloud that only routes that stay forward to.
func keepGroups(built *model.Built, seen *lb.Observed) {
	for i := range built.LoadBalancer.TargetGroups {
		g := &built.LoadBalancer.TargetGroups[i]
		there := seen.TargetGroup(g.ID)
		if _, known := built.Table.Backends[g.ID]; !known && there != nil {
			*g = there.TargetGroup
			g.Targets = nil
		}
	}
}
