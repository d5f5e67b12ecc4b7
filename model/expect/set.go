package expect

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file turns a set of requests into entries of a list.

// A part is a part of a set of requests: the requests for one URL, or all.
type part struct {
	schemes    []string
	ports      []int32
	hosts      []Host
	paths      []routing.Path
	when       routing.Conditions
	balancers  LoadBalancers
	answeredBy Answerers
}

// parts returns the parts of a set.
func (r Requests) parts() []part {
	whole := part{
		schemes: r.Schemes, ports: r.Ports, hosts: r.Hosts, paths: requests.Anything,
		when: r.conditions(), balancers: r.LoadBalancers, answeredBy: r.AnsweredBy,
	}
	if len(r.Paths) > 0 {
		whole.paths = nil
	}
	for _, p := range r.Paths {
		whole.paths = append(whole.paths, p.pattern())
	}
	if len(r.URLs) == 0 {
		return []part{whole}
	}
	var out []part
	for _, u := range r.URLs {
		one := whole
		one.schemes, one.ports, one.hosts = []string{u.Scheme}, []int32{u.Port}, []Host{u.Host}
		one.paths, one.when = []routing.Path{u.Path}, slices.Concat(whole.when, u.Query)
		one.balancers.OfHost = true
		out = append(out, one)
	}
	return out
}

// conditions returns the conditions of a set besides host and path, in canonical order.
func (r Requests) conditions() routing.Conditions {
	var out routing.Conditions
	add := func(field, name string, values []string) {
		if len(values) > 0 {
			sorted := slices.Compact(slices.Sorted(slices.Values(values)))
			out = append(out, routing.Condition{Field: field, Name: name, Values: sorted})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		add("header", name, r.Headers[name])
	}
	add("method", "", r.Methods)
	for _, name := range slices.Sorted(maps.Keys(r.Query)) {
		add("query", name, r.Query[name])
	}
	add("source", "", r.Sources)
	return out
}

// A place is a listener of a load balancer, with a host of requests.
type place struct {
	table    *precedence.Table
	listener *routing.Listener
	host     string
}

func (p place) scheme() string { return strings.ToLower(string(p.listener.Protocol)) }

// at reports whether requests of a part arrive at a place.
func (p part) at(where place) bool {
	return isAnyOf(p.schemes, where.scheme()) && isAnyOf(p.ports, where.listener.Port) &&
		p.hasHost(where.host) && p.balancers.has(where.table, where.host)
}

func (p part) hasHost(name string) bool {
	return len(p.hosts) == 0 ||
		slices.ContainsFunc(p.hosts, func(h Host) bool { return h.has(name) })
}

// isAnyOf reports whether a value is in a list; an empty list has all values.
func isAnyOf[T comparable](some []T, value T) bool {
	return len(some) == 0 || slices.Contains(some, value)
}

// has reports whether a load balancer is in the set, for requests for a host.
func (l LoadBalancers) has(t *precedence.Table, host string) bool {
	return matchesOne(l.Classes, t.Key.Class()) && isAnyOf(l.Schemes, schemeOf(t)) &&
		matchesOne(l.Keys, string(t.Key)) && (!l.OfHost || names(t, host))
}

func (l LoadBalancers) all() bool {
	return len(l.Classes)+len(l.Schemes)+len(l.Keys) == 0 && !l.OfHost
}

// schemeOf returns the scheme of a load balancer.
func schemeOf(t *precedence.Table) string { return cmp.Or(t.Settings.Scheme, t.Key.Scheme()) }

// names reports whether an Ingress on a load balancer names a host, or a wildcard for it, or has a
// condition that the host fulfils.
func names(t *precedence.Table, host string) bool {
	conditioned := func(r routing.Route) bool {
		c := r.When.Host()
		return c != nil && r.Host == routing.Any && c.Matcher()(routing.Request{Host: host})
	}
	return slices.ContainsFunc(t.Listeners, func(l routing.Listener) bool {
		return slices.ContainsFunc(routing.Levels(host), func(h routing.Host) bool {
			return h != routing.Any && t.Level(l.Port, h) != nil
		})
	}) || slices.ContainsFunc(t.Routes, conditioned)
}

// matchesOne reports whether a text matches a glob of a list; an empty list matches all.
func matchesOne(globs []string, text string) bool {
	return len(globs) == 0 ||
		slices.ContainsFunc(globs, func(g string) bool { return routing.GlobMatch(g, text) })
}

// The answers of the list for a set of requests.
const (
	inSet  = "in the set"
	outSet = "not in the set"
)

// entries returns a list for a set of requests at a place: the requests of parts, without those of
// other parts.
func entries(parts, without []part, where place) []requests.Entry {
	var out []requests.Entry
	for _, p := range without {
		if p.at(where) {
			out = append(out, requests.Entry{Paths: p.paths, When: p.when, Answer: outSet})
		}
	}
	connect := clientsCondition(where.listener)
	for _, p := range parts {
		if p.at(where) {
			when := slices.Concat(p.when, connect)
			out = append(out, requests.Entry{Paths: p.paths, When: when, Answer: inSet})
		}
	}
	return append(out, requests.Entry{Paths: requests.Anything, Answer: outSet})
}

// clientsCondition returns the condition on the clients that may connect to a listener. The
// contents of a prefix list are not known, so it may admit all clients.
func clientsCondition(l *routing.Listener) routing.Conditions {
	if len(l.Inbound) == 0 {
		return nil
	}
	for _, text := range l.Inbound {
		if _, err := netip.ParsePrefix(text); err != nil {
			return nil
		}
	}
	return routing.Conditions{{Field: "source", Values: l.Inbound}}
}
