// Package tables makes random configurations of load balancers, and requests at their edges, for tests
// that compare what is decided about all requests with what single requests get.
package tables

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// Hosts, Paths and Conditions are those of routes.
var (
	Hosts = []routing.Host{
		"x.a.test", "y.a.test", "*.a.test", "q.x.a.test", "*.x.a.test", "*.test", "a.test", "bare",
		"any.a.test", "any.example", "*.example", routing.Any, routing.Any,
	}
	Paths = []routing.Path{
		{Type: routing.Exact, Value: "/"}, {Type: routing.Exact, Value: "/a"}, {Type: routing.Exact, Value: "/a/"},
		{Type: routing.Exact, Value: "/a/b"}, routing.Root, {Type: routing.Prefix, Value: "/a"},
		{Type: routing.Prefix, Value: "/a/b"}, {Type: routing.Prefix, Value: "/b"}, {Type: routing.Prefix, Value: "/a/b/c"},
		{Type: routing.Glob, Value: "/a*"}, {Type: routing.Glob, Value: "/*b"}, {Type: routing.Glob, Value: "/a/?"},
		{Type: routing.Glob, Value: "/a/*/c"}, {Type: routing.Glob, Value: "/*a*b*"}, {Type: routing.Glob, Value: "/*"},
		{Type: routing.Regex, Value: "/a(/|b)*"}, {Type: routing.Regex, Value: "/[a-c]{1,2}"},
		{Type: routing.Regex, Value: "/(a|b/)+c?"}, {Type: routing.Regex, Value: "/a[^/]*/b.*"},
		{Type: routing.Prefix, Value: "/.well-known"}, routing.ChallengePath,
		{Type: routing.Exact, Value: routing.ChallengePath.Value + "/a"}, {Type: routing.Glob, Value: "/*/a*"},
		{Type: routing.Regex, Value: "/[.]?w.*"},
	}
	Conditions = []routing.Condition{
		{Field: "header", Name: "x-a", Values: []string{"yes"}}, {Field: "header", Name: "x-a", Values: []string{"y*"}},
		{Field: "header", Name: "x-a", Values: []string{"no", "?es"}}, {Field: "header", Name: "x-b", Values: []string{"*a b*"}},
		{Field: "header", Name: "x-b", Values: []string{"*"}}, {Field: "query", Name: "v", Values: []string{"1"}},
		{Field: "query", Name: "v", Values: []string{"1", "2*"}}, {Field: "method", Values: []string{"GET"}},
		{Field: "method", Values: []string{"GET", "POST"}}, {Field: "source", Values: []string{"10.0.0.0/8"}},
		{Field: "source", Values: []string{"10.1.0.0/16", "2001:db8::/32"}}, {Field: "source", Values: []string{"0.0.0.0/0"}},
		{Field: "source", Values: []string{"10.0.0.0/32", "203.0.113.0/24"}}, {Field: "source", Values: []string{"10.0.0.1/32"}},
		{Field: "method", Values: []string{"PURGE"}}, {Field: "header", Name: "x-a", Values: []string{"n*"}},
		{Field: "header", Name: "x-a", Regex: true, Values: []string{"[Yy][eE].*"}}, {Field: "header", Name: "x-b", Regex: true, Values: []string{"a b|x.* .*", "[^a]"}},
		{Field: "query", Values: []string{"v=1", "2*"}}, {Field: "query", Values: []string{"w*=1", "?"}},
		{Field: "host", Values: []string{"*.a.test"}}, {Field: "host", Values: []string{"*.x.a.test", "bare", "*.test"}},
		{Field: "host", Values: []string{"?.a.test", "*y*.*"}}, {Field: "host", Values: []string{"any.example", "*io"}},
		{Field: "host", Regex: true, Values: []string{`[x-z]\.a\.test`, "OTHER.*"}},
	}
)

// A Generator makes random configurations.
type Generator struct {
	*rand.Rand
	routes int
}

// Config is a random configuration.
func (g *Generator) Config() routing.Config {
	c := routing.Config{
		Key:      "fairlead/test/ingress/internal",
		HostMiss: routing.HostMiss(g.IntN(2)), HostsOwned: g.IntN(3) == 0, Precedence: routing.Precedence(g.IntN(2)),
		Listeners: []routing.Listener{{Port: 80, Protocol: routing.HTTP}, {Port: 443, Protocol: routing.HTTPS}},
	}
	for range 1 + g.IntN(14) {
		c.Routes = append(c.Routes, g.route())
	}
	for range g.IntN(3) {
		c.Defaults = g.withFallback(c.Defaults)
	}
	for range g.IntN(3) {
		c.Names = append(c.Names, routing.Name{Owner: g.owner(), Host: Hosts[g.IntN(len(Hosts)-2)], Ports: g.ports()})
	}
	return c
}

func (g *Generator) source() diag.Source {
	g.routes++
	return diag.Source{Kind: "Ingress", Namespace: "test", Name: "ingress", Field: fmt.Sprintf("spec.%d", g.routes)}
}

func (g *Generator) owner() routing.Owner {
	return routing.Owner{Namespace: []string{"alice", "bob"}[g.IntN(2)], Name: fmt.Sprintf("ingress-%d", g.IntN(3)), Created: time.Unix(int64(g.IntN(3)), 0), Order: g.IntN(2)}
}

func (g *Generator) ports() []int32 { return [][]int32{{80}, {443}, {80, 443}}[g.IntN(3)] }

func (g *Generator) action() routing.Action {
	a := routing.To(routing.BackendID(rune('A' + g.IntN(3))))
	if g.IntN(4) == 0 {
		a.SSLRedirect = &routing.SSLRedirect{Port: 443, Challenges: g.IntN(4) == 0}
	}
	switch g.IntN(8) {
	case 0:
		return routing.Status(404)
	case 1:
		return routing.Action{Redirect: &routing.Redirect{Status: 301, Scheme: "https", Port: "443"}}
	case 2:
		a.Auth = &routing.Auth{Kind: routing.OIDC, Issuer: "https://id.test", SecurePort: int32(443 * g.IntN(2))}
		return a
	default:
		return a
	}
}

// withFallback adds a default backend, or a redirect of all requests over HTTP, of an Ingress that has neither.
func (g *Generator) withFallback(all []routing.Default) []routing.Default {
	d := routing.Default{Owner: g.owner(), Ports: g.ports(), Action: g.action(), Source: g.source()}
	if g.IntN(3) == 0 {
		d.Plain, d.Ports = true, [][]int32{{80}, {}}[g.IntN(2)]
		d.Action = routing.SSLRedirect{Port: 443}.Redirect()
	}
	if slices.ContainsFunc(all, func(o routing.Default) bool { return o.Owner.String() == d.Owner.String() }) {
		return all
	}
	return append(all, d)
}

func (g *Generator) route() routing.Route {
	r := routing.Route{
		Host: Hosts[g.IntN(len(Hosts))], Path: Paths[g.IntN(len(Paths))],
		Action: g.action(), Ports: g.ports(), Owner: g.owner(), Index: g.routes, Source: g.source(),
	}
	r.Spelt = r.Path.Value
	if g.IntN(2) == 0 {
		for _, i := range g.Perm(len(Conditions))[:1+g.IntN(3)] {
			c := Conditions[i]
			if !slices.ContainsFunc(r.When, func(o routing.Condition) bool { return o.Field == c.Field && o.Name == c.Name }) || g.IntN(4) == 0 {
				r.When = append(r.When, c)
			}
		}
	}
	return r
}

// Changed is a configuration with a few differences, or another one.
func (g *Generator) Changed(c routing.Config) routing.Config {
	if g.IntN(6) == 0 {
		return g.Config()
	}
	c.Routes, c.Defaults, c.Names = slices.Clone(c.Routes), slices.Clone(c.Defaults), slices.Clone(c.Names)
	for range 1 + g.IntN(3) {
		at := g.IntN(len(c.Routes))
		switch g.IntN(9) {
		case 0:
			c.Routes = append(c.Routes, g.route())
		case 1:
			if len(c.Routes) > 1 {
				c.Routes = slices.Delete(c.Routes, at, at+1)
			}
		case 2:
			c.Routes[at].Action = g.action()
		case 3:
			c.Routes[at].Path = Paths[g.IntN(len(Paths))]
		case 4:
			c.Routes[at].When = g.route().When
		case 5:
			c.Routes[at].Host = Hosts[g.IntN(len(Hosts))]
		case 6:
			c.HostMiss = 1 - c.HostMiss
			c.Precedence = routing.Precedence(g.IntN(2))
		case 7:
			c.Defaults = g.withFallback(c.Defaults)
		default:
			c.Listeners = c.Listeners[:1]
		}
	}
	return c
}

// Named adds the names of the hosts of routes, as translation does.
func Named(c routing.Config) *precedence.Table {
	for _, r := range c.Routes {
		if r.Host != routing.Any {
			c.Names = append(c.Names, routing.Name{Host: r.Host, Owner: r.Owner, Ports: r.Ports})
		}
	}
	return precedence.New(c)
}

// Request is at an edge of a route of one of the configurations.
func (g *Generator) Request(all ...routing.Config) routing.Request {
	c := all[g.IntN(len(all))]
	r := c.Routes[g.IntN(len(c.Routes))]
	out := routing.Request{Port: []int32{80, 443}[g.IntN(2)], Path: g.Path(r.Path), Method: []string{"GET", "POST", "PUT", "PURGE"}[g.IntN(4)]}
	host := string(r.Host)
	switch g.IntN(4) {
	case 0:
		host = string(Hosts[g.IntN(len(Hosts))])
	case 1:
		host = "z." + host
	}
	switch {
	case host == "" || host == "z.":
		host = "other.io"
	case strings.Contains(host, "*"):
		host = strings.ReplaceAll(host, "*", []string{"x", "w", "Y"}[g.IntN(3)])
	}
	if out.Host = host; g.IntN(8) == 0 {
		out.Host = strings.ToUpper(host) + ":8080"
	}
	addresses := []string{"10.0.0.0", "10.0.0.1", "203.0.113.7", "10.1.0.0", "10.1.255.255", "11.0.0.0", "9.255.255.255", "2001:db8::1", "2001:db9::", "::1", "255.255.255.255"}
	out.Source = netip.MustParseAddr(addresses[g.IntN(len(addresses))])
	values := []string{"yes", "YES", "y", "no", "oes", "a b", "xa by", "", "a", "n"}
	for _, name := range []string{"x-a", "X-A", "x-b"} {
		for range g.IntN(3) {
			out.Header = withValue(out.Header, name, values[g.IntN(len(values))])
		}
	}
	for range g.IntN(3) {
		out.Query = withValue(out.Query, []string{"v", "V", "w", "x"}[g.IntN(4)], []string{"1", "2", "22", "3", ""}[g.IntN(5)])
	}
	return out
}

func withValue(m map[string][]string, name, value string) map[string][]string {
	if m == nil {
		m = map[string][]string{}
	}
	m[name] = append(m[name], value)
	return m
}

// Path is a path at the edge of a pattern.
func (g *Generator) Path(p routing.Path) string {
	text := p.Value
	switch p.Type {
	case routing.Glob:
		text = strings.NewReplacer("*", []string{"", "b", "/c", "a/b"}[g.IntN(4)], "?", []string{"b", "/", "z"}[g.IntN(3)]).Replace(text)
	case routing.Regex:
		texts := []string{"/.well-known/acme-challenge/b", "/wa", "/a", "/ab", "/a/b", "/ab/", "/a//b", "/b", "/c", "/bc", "/b/c", "/ab/c", "/aac", "/axy/b", "/a/b/c", "/ax/bz"}
		text = texts[g.IntN(len(texts))]
	}
	switch g.IntN(5) {
	case 0:
		text += []string{"/", "x", "/x", "b", "/b", "/b/c"}[g.IntN(6)]
	case 1:
		if len(text) > 1 {
			text = text[:len(text)-1]
		}
	}
	return text
}
