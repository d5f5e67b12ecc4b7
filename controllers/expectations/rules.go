package expectations

import (
	"math"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads rules of the cloud as routes.

// RoutesOf returns the routes of a rule of the cloud on a port, of no Ingress. They come before others
// with the same host and path. A 404 for hosts, without any other condition, is behind all routes of
// these: it keeps their misses from less specific hosts.
func RoutesOf(r lb.Rule, port int32) (out []routing.Route) {
	route := routing.Route{Action: r.Action.Routing(), Ports: []int32{port}}
	if route.Owner.Order = math.MinInt; isMiss(r) {
		route.Owner.Order = math.MaxInt
	}
	hosts, paths := r.Hosts(), []routing.Path{routing.Root}
	for _, c := range r.Conditions {
		switch {
		case c.Field == "path":
			paths = pathsOf(c)
		case c.Field != "host":
			route.When = append(route.When, conditionOf(c))
		case len(hosts) == 0: // expressions that no host of an Ingress has
			hosts, route.When = []routing.Host{routing.Any}, append(route.When, conditionOf(c))
		}
	}
	slices.SortFunc(route.When, func(a, b routing.Condition) int {
		return strings.Compare(a.Field+" "+a.Name, b.Field+" "+b.Name)
	})
	for _, route.Host = range hosts {
		for _, route.Path = range paths {
			out = append(out, route)
		}
	}
	return out
}

// isMiss reports whether a rule answers 404 to all requests for some hosts that come to it.
func isMiss(r lb.Rule) bool {
	return len(r.Conditions) == 1 && r.Condition("host") != nil &&
		lb.SameAction(r.Action, lb.FromRouting(routing.NotFound()))
}

// conditionOf returns a condition of a rule as one of a route.
func conditionOf(c lb.Condition) routing.Condition {
	out := routing.Condition{Field: c.Field, Name: c.Name, Values: slices.Sorted(slices.Values(c.Values))}
	for _, expression := range c.Regex {
		body, _ := lb.Unanchored(expression)
		out.Regex, out.Values = true, append(out.Values, body)
	}
	return out
}

// pathsOf returns the paths of a condition. A path and all below it are a prefix.
func pathsOf(c lb.Condition) (out []routing.Path) {
	for _, value := range c.Values {
		path := routing.Path{Type: routing.Exact, Value: value}
		parent, below := strings.CutSuffix(value, "/*")
		switch {
		case below && slices.Contains(c.Values, parent) && !strings.ContainsAny(parent, "*?"):
			continue // of the prefix
		case strings.ContainsAny(value, "*?"):
			path.Type = routing.Glob
		case slices.Contains(c.Values, value+"/*"):
			path.Type = routing.Prefix
		}
		out = append(out, path)
	}
	for _, expression := range c.Regex {
		body, _ := lb.Unanchored(expression)
		if whole, is := strings.CutPrefix(body, "(?:"); is && strings.HasSuffix(whole, ")") {
			if _, plain := lb.Unanchored(strings.TrimSuffix(whole, ")")); plain { // the parentheses belong together
				body = strings.TrimSuffix(whole, ")")
			}
		}
		out = append(out, routing.Path{Type: routing.Regex, Value: body})
	}
	return out
}
