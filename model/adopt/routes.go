// Package adopt compares a load balancer that others made with the one that Ingresses ask for: which requests get
// another answer, which of its target groups is which wanted one, and which settings differ.
//
// It hides how rules of a cloud are read as routes, so that package compare, which finds all differences between
// routing tables, finds those between rules and routes.
package adopt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// configOf returns the rules of a load balancer as routes, in the order of their priorities. A route has no host: the
// hosts of its rule are a condition, as a star in one may match several labels.
func configOf(o *lb.Observed, d lb.Dialect) routing.Config {
	c := routing.Config{Key: o.Key, Precedence: routing.InOrder, Backends: map[routing.BackendID]routing.Backend{}}
	for _, g := range o.TargetGroups {
		c.Backends[g.ID] = routing.Backend{ID: g.ID}
	}
	for _, l := range o.Listeners {
		c.Listeners = append(c.Listeners, listenerOf(o, l))
		ports := []int32{l.Port}
		for _, r := range l.Rules {
			c.Routes = append(c.Routes, routesOf(r, ports, d)...)
		}
		c.Defaults = append(c.Defaults, routing.Default{
			Action: l.Default.Routing(), Ports: ports, Source: sourceOf(l.Port, "default"),
		})
	}
	return c
}

// listenerOf returns a listener with the settings that were read of it.
func listenerOf(o *lb.Observed, l lb.ObservedListener) routing.Listener {
	out := routing.Listener{Port: l.Port, Protocol: l.Protocol, Certificates: l.Certificates}
	if o.Read != nil {
		s := o.Read.Listeners[l.Port]
		out.TLSPolicy, out.Attributes, out.Mutual, out.Inbound = s.TLSPolicy, s.Attributes, s.Mutual, s.Inbound
		if o.Read.LoadBalancer != nil && slices.Equal(s.Inbound, everybody[o.Read.LoadBalancer.IPFamily]) {
			out.Inbound = nil
		}
	}
	return out
}

// everybody has the ranges that let all clients in, by the address family of the load balancer.
var everybody = map[string][]string{"ipv4": {"0.0.0.0/0"}, "dualstack-without-public-ipv4": {"::/0"}}

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
		body, _ := lb.Unanchored(expression)
		out = append(out, routing.Path{Type: routing.Regex, Value: body})
	}
	return out
}

// conditionOf returns a condition of a rule, except one on the path, as one of a route.
func conditionOf(c lb.Condition, d lb.Dialect) routing.Condition {
	out := routing.Condition{Field: c.Field, Name: c.Name, Values: c.Values}
	switch {
	case len(c.Regex) > 0:
		out.Regex, out.Values = true, nil
		for _, expression := range c.Regex {
			body, _ := lb.Unanchored(expression)
			out.Values = append(out.Values, body)
		}
	case c.Field == "host" && d.HostStarIsLabel:
		out.Regex, out.Values = true, nil
		for _, v := range c.Values {
			out.Values = append(out.Values, strings.ReplaceAll(routing.GlobPattern(v), ".*", `[^.]+`))
		}
	}
	return out
}

// rename gives target groups the IDs of wanted ones.
func rename(c routing.Config, ids map[lb.GroupID]lb.GroupID) routing.Config {
	c.Routes, c.Defaults, c.Backends = slices.Clone(c.Routes), slices.Clone(c.Defaults), maps.Clone(c.Backends)
	for i := range c.Routes {
		c.Routes[i].Action = forwardedTo(c.Routes[i].Action, ids)
	}
	for i := range c.Defaults {
		c.Defaults[i].Action = forwardedTo(c.Defaults[i].Action, ids)
	}
	for _, id := range ids {
		c.Backends[id] = routing.Backend{ID: id}
	}
	return c
}

// forwardedTo returns an action with other IDs of target groups. Weights of the same one add up.
func forwardedTo(a routing.Action, ids map[lb.GroupID]lb.GroupID) routing.Action {
	var out []routing.Weighted
	for _, w := range a.Forward {
		if id, known := ids[w.Backend]; known {
			w.Backend = id
		}
		if i := slices.IndexFunc(out, func(o routing.Weighted) bool { return o.Backend == w.Backend }); i >= 0 {
			out[i].Weight += w.Weight
			continue
		}
		out = append(out, w)
	}
	if slices.SortFunc(out, func(x, y routing.Weighted) int { return cmp.Compare(x.Backend, y.Backend) }); len(out) == 1 {
		out[0].Weight = 1
	}
	a.Forward = out
	return a
}

// knowSecrets gives sign-ins the client secrets of equal wanted ones, which a cloud does not return.
func knowSecrets(c routing.Config, wanted *precedence.Table) {
	known := map[string]*routing.Auth{}
	for _, r := range wanted.Routes {
		if r.Action.Auth != nil {
			known[r.Action.Auth.Key()] = r.Action.Auth
		}
	}
	for _, d := range wanted.Defaults {
		if d.Action.Auth != nil {
			known[d.Action.Auth.Key()] = d.Action.Auth
		}
	}
	for i := range c.Routes {
		if a := c.Routes[i].Action.Auth; a != nil && known[a.Key()] != nil {
			c.Routes[i].Action.Auth = known[a.Key()]
		}
	}
	for i := range c.Defaults {
		if a := c.Defaults[i].Action.Auth; a != nil && known[a.Key()] != nil {
			c.Defaults[i].Action.Auth = known[a.Key()]
		}
	}
}
