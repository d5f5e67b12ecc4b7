package adopt

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads rules as routes.

// configOf returns the rules of a load balancer as routes, in the order of their priorities. A route has no host: the
// hosts of its rule are a condition, as a star in one may match several labels. odd says which rules and default actions
// are not understood, and left out.
func configOf(o *lb.Other, d lb.Dialect) (c routing.Config, odd []string) {
	c = routing.Config{Key: o.Key, Precedence: routing.InOrder, Backends: map[routing.BackendID]routing.Backend{}}
	for _, g := range o.TargetGroups {
		c.Backends[g.ID] = routing.Backend{ID: g.ID}
	}
	for i := range o.Listeners {
		l := &o.Listeners[i]
		c.Listeners = append(c.Listeners, listenerOf(o, l))
		ports := []int32{l.Port}
		for _, r := range l.Rules {
			if why := oddRule(o, l, r, d); why != "" {
				odd = append(odd, fmt.Sprintf("listener %d, rule %d: %s", l.Port, r.Priority, why))
				continue
			}
			c.Routes = append(c.Routes, routesOf(r, ports, d)...)
		}
		if why := oddAction(o, l.Default); why != "" {
			odd = append(odd, fmt.Sprintf("listener %d, default: %s", l.Port, why))
			continue
		}
		c.Defaults = append(c.Defaults, routing.Default{
			Action: l.Default.Routing(), Ports: ports, Source: sourceOf(l.Port, "default"),
		})
	}
	return c, odd
}

// listenerOf returns a listener with the settings that were read of it.
func listenerOf(o *lb.Other, l *lb.ObservedListener) routing.Listener {
	out := routing.Listener{Port: l.Port, Protocol: l.Protocol, Certificates: l.Certificates}
	if o.Read != nil {
		s := o.Read.Listeners[l.Port]
		out.TLSPolicy, out.Mutual, out.Inbound = s.TLSPolicy, s.Mutual, s.Inbound
	}
	return out
}

// oddRule says why a rule is not understood; "" if it is.
func oddRule(o *lb.Other, l *lb.ObservedListener, r lb.ObservedRule, d lb.Dialect) string {
	odd := o.OfPart(r.Handle)
	paths := 0
	for _, c := range r.Conditions {
		if why := oddCondition(c); why != "" {
			odd = append(odd, c.String()+" "+why)
		}
		if c.Field == "path" {
			if paths++; paths == 2 {
				odd = append(odd, "two conditions are on the path")
			}
		}
		if c.Field == "host" && d.Doubt.HostPort && !lb.UsualPort(l.Port) {
			odd = append(odd, fmt.Sprintf("the cloud does not say whether conditions on the host see the port that clients "+
				"send with it on port %d", l.Port))
		}
	}
	if why := oddAction(o, r.Action); why != "" {
		odd = append(odd, why)
	}
	return strings.Join(odd, "; ")
}

// oddCondition says why a condition is not understood; "" if it is.
func oddCondition(c lb.Condition) string {
	switch {
	case !slices.Contains(lb.Fields, c.Field):
		return "is on another part of a request"
	case (len(c.Values) == 0) == (len(c.Regex) == 0):
		return "has not either values or expressions"
	case len(c.Regex) > 0 && !slices.Contains([]string{"host", "path", "header"}, c.Field):
		return "has expressions"
	case c.Field == "header" && c.Name == "":
		return "names no header"
	}
	for _, expression := range c.Regex {
		if _, err := regexp.Compile(routing.WholeText(expression)); err != nil {
			return "is no regular expression that Fairlead reads: " + err.Error()
		}
	}
	for _, v := range c.Values {
		if _, err := netip.ParsePrefix(v); c.Field == "source" && err != nil {
			return "is no range of addresses"
		}
		// "To search for a literal '*' or '?' character in a query string, you must escape these characters in Values
		// using a '\' character" (API_QueryStringConditionConfig.html).
		if c.Field == "query" && strings.Contains(v, `\`) {
			return `has a backslash, which has the character behind it stand for itself`
		}
	}
	return ""
}

// oddAction says why an action is not understood; "" if it is.
func oddAction(o *lb.Other, a lb.Action) string {
	switch a.Kind {
	case "fixed":
	case "redirect":
		if a.Redirect == nil {
			return "a redirect to nowhere"
		}
	case "forward":
		for _, t := range a.Targets {
			if o.TargetGroup(t.Group) == nil {
				return "it forwards to " + string(t.Group) + ", which was not found"
			}
		}
	default:
		return "its action is " + a.Kind
	}
	return ""
}

// routesOf returns a rule as routes: one for each of its paths, with all other conditions.
func routesOf(r lb.ObservedRule, ports []int32, d lb.Dialect) (out []routing.Route) {
	var when routing.Conditions
	paths := []routing.Path{routing.Root}
	for _, c := range r.Conditions {
		if c.Field == "path" {
			paths = pathsOf(c)
			continue
		}
		when = append(when, conditionOf(c, d))
	}
	for i, p := range paths {
		out = append(out, routing.Route{
			Path: p, Spelt: p.Value, When: when, Action: r.Action.Routing(), Ports: ports,
			Owner: routing.Owner{Order: r.Priority}, Index: i,
			Source: sourceOf(ports[0], fmt.Sprintf("rule %d", r.Priority)),
		})
	}
	return out
}

// sourceOf names a rule of a listener in messages.
func sourceOf(port int32, rule string) diag.Source {
	return diag.Source{Kind: "listener", Name: fmt.Sprint(port), Field: rule}
}

// pathsOf returns the paths of a condition.
func pathsOf(c lb.Condition) (out []routing.Path) {
	for _, v := range c.Values {
		kind := routing.Exact
		if strings.ContainsAny(v, "*?") {
			kind = routing.Glob
		}
		out = append(out, routing.Path{Type: kind, Value: v})
	}
	for _, expression := range c.Regex {
		out = append(out, routing.Path{Type: routing.Regex, Value: routing.WholeText(expression)})
	}
	return out
}

// conditionOf returns a condition of a rule, except one on the path, as one of a route.
func conditionOf(c lb.Condition, d lb.Dialect) routing.Condition {
	out := routing.Condition{Field: c.Field, Name: c.Name, Regex: len(c.Regex) > 0}
	for _, v := range c.Values {
		switch {
		case c.Field == "host" && d.HostStarIsLabel:
			out.Regex = true
			v = strings.ReplaceAll(routing.GlobPattern(strings.ToLower(v)), ".*", `[^.]+`)
		case c.Field == "host":
			v = strings.ToLower(v)
		}
		out.Values = append(out.Values, v)
	}
	for _, expression := range c.Regex {
		out.Values = append(out.Values, routing.WholeText(expression))
	}
	return out
}

// canonical returns a configuration in which actions that do the same are equal: target groups have other IDs, weights
// of the same one add up, and those without a share of the requests are left out.
func canonical(c routing.Config, ids map[lb.GroupID]lb.GroupID) routing.Config {
	c.Routes, c.Defaults = slices.Clone(c.Routes), slices.Clone(c.Defaults)
	known := map[routing.BackendID]routing.Backend{}
	for id, b := range c.Backends {
		known[id] = b
	}
	for _, id := range ids {
		known[id] = routing.Backend{ID: id}
	}
	c.Backends = known
	eachAction(&c, func(a *routing.Action) { *a = canonicalAction(*a, ids) })
	return c
}

func canonicalAction(a routing.Action, ids map[lb.GroupID]lb.GroupID) routing.Action {
	if a.Fixed != nil {
		fixed := *a.Fixed
		if a.Fixed = &fixed; fixed.Body == "" {
			a.Fixed.ContentType = ""
		}
	}
	if a.Fixed != nil || a.Redirect != nil {
		return a
	}
	weights, total := map[routing.BackendID]int32{}, int32(0)
	for _, w := range a.Forward {
		if id, known := ids[w.Backend]; known {
			w.Backend = id
		}
		weights[w.Backend] += w.Weight
		total += w.Weight
	}
	a.Forward = nil
	common := int32(0)
	for id, weight := range weights {
		if weight > 0 {
			a.Forward = append(a.Forward, routing.Weighted{Backend: id, Weight: weight})
			common = greatestDivisor(weight, common)
		}
	}
	if total == 0 { // the load balancer has nowhere to send a request to
		a.Fixed = &routing.Fixed{Status: 503}
	}
	for i := range a.Forward {
		a.Forward[i].Weight /= common
	}
	if len(a.Forward) < 2 {
		a.StickySeconds = 0
	}
	slices.SortFunc(a.Forward, func(x, y routing.Weighted) int { return strings.Compare(string(x.Backend), string(y.Backend)) })
	return a
}

func greatestDivisor(a, b int32) int32 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
