package loadbalancer

import (
	"maps"
	"math"
	"slices"
	"strings"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file holds back Ingresses of which the record has no version, as it was full. There is nothing of
// them to compile. But rules of the cloud that answer requests for which an Ingress of another namespace
// would violate an expectation stay, as routes of the table.

// forgotten returns the Ingresses of other namespaces without a version that may answer the requests of an
// offence now: the one that does, or all of them where that is not known, as after a restart.
func (o outcome) forgotten(f expectations.Offence) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(o.Snapshot.Recorded.Members)) {
		m := o.Snapshot.Recorded.Members[name]
		if m.Served && m.LastAccepted == nil && namespaceOf(name) != namespaceOf(f.Next) &&
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
						return s.Host == route.Host && s.Path == route.Path && s.Ports[0] == f.Port
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

// routesOf returns the routes of a rule that stays for the host of an offence; none if it has conditions on
// more than hosts and paths.
func routesOf(rule lb.Rule, f expectations.Offence) (out []routing.Route) {
	route := routing.Route{Action: rule.Action.Routing(), Ports: []int32{f.Port}}
	if f.Now != "" {
		ref := cluster.RefFrom(cluster.KindIngress, f.Now)
		route.Source = diag.Source{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
		route.Owner.Namespace, route.Owner.Name = ref.Namespace, ref.Name
	}
	paths := []routing.Path{routing.Root}
	for _, c := range rule.Conditions {
		switch {
		case c.Field == "path" && len(c.Regex) == 0:
			paths = pathsOf(c.Values)
		case c.Field != "host":
			return nil
		}
	}
	route.Owner.Order = math.MinInt
	if rule.Condition("path") == nil && lb.SameAction(rule.Action, notFound) {
		route.Owner.Order = math.MaxInt // it is behind all routes of its hosts
	}
	for _, route.Host = range rule.Hosts() {
		for _, route.Path = range paths {
			if route.Host.Covers(f.Host) {
				out = append(out, route)
			}
		}
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

// pathsOf returns the paths of the values of a condition.
func pathsOf(values []string) (out []routing.Path) {
	for _, value := range values {
		path := routing.Path{Type: routing.Exact, Value: value}
		parent, below := strings.CutSuffix(value, "/*")
		switch {
		case below && slices.Contains(values, parent) && !strings.ContainsAny(parent, "*?"):
			continue // of the prefix
		case strings.ContainsAny(value, "*?"):
			path.Type = routing.Glob
		case slices.Contains(values, value+"/*"):
			path.Type = routing.Prefix
		}
		out = append(out, path)
	}
	return out
}
