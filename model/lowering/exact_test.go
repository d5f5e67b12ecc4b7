package lowering

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/nightly"
)

// The clever is checked against the obvious: for every small table and every request of a grid,
// the lowered rules and the literal specification agree.

var (
	smallHosts = []routing.Host{"x.a.test", "*.a.test", routing.Any}
	smallPaths = []routing.Path{
		{Type: routing.Exact, Value: "/"}, {Type: routing.Exact, Value: "/a"},
		{Type: routing.Exact, Value: "/a/"}, {Type: routing.Exact, Value: "/a/b"},
		{Type: routing.Prefix, Value: "/"}, {Type: routing.Prefix, Value: "/a"},
		{Type: routing.Prefix, Value: "/a/b"}, {Type: routing.Prefix, Value: "/b"},
		{Type: routing.Glob, Value: "/a*"}, {Type: routing.Glob, Value: "/*b"},
	}
	gridHosts = []string{"x.a.test", "y.a.test", "q.x.a.test", "a.test", "z.test"}
	gridPaths = []string{"/", "/a", "/a/", "/a/b", "/a/b/", "/a/b/c", "/a/c", "/ab", "/a/bb", "/b", "/b/a", "/bb", "/c", "/c/b"}
)

// aRoute is a route of one Ingress to one of a few Services.
func aRoute(owner string, host routing.Host, path routing.Path, service string, index int, ports ...int32) routing.Route {
	return routing.Route{
		Host: host, Path: path, Action: routing.To(routing.BackendID(service)), Ports: ports,
		Owner: routing.Owner{Namespace: "test", Name: owner}, Index: index, Spelt: path.Value,
	}
}

// tableOf is the table of some routes, their hosts named on the routes' ports.
func tableOf(c routing.Config) *precedence.Table {
	for _, r := range c.Routes {
		if r.Host != routing.Any && r.Listed == nil {
			c.Names = append(c.Names, routing.Name{Host: r.Host, Owner: r.Owner, Ports: r.Ports})
		}
	}
	if c.Listeners == nil {
		c.Listeners = []routing.Listener{{Port: 80, Protocol: "HTTP"}}
	}
	return precedence.New(c)
}

func allCapabilities() []lb.Capabilities {
	three := lb.ALB()
	three.Name, three.ValuesPerCondition = "alb-3", 3
	threeGlob := lb.ALBGlob()
	threeGlob.Name, threeGlob.ValuesPerCondition = "alb-glob-3", 3
	return []lb.Capabilities{lb.Literal(), lb.ALB(), lb.ALBGlob(), three, threeGlob}
}

// grid is every request of some hosts and paths on one port.
func grid(port int32, hosts, paths []string) []routing.Request {
	var out []routing.Request
	for _, h := range hosts {
		for _, p := range paths {
			out = append(out, routing.Request{Port: port, Host: h, Path: p})
		}
	}
	return out
}

// differs says how the rules of a table differ from its specification, or "".
func differs(table *precedence.Table, c lb.Capabilities, requests []routing.Request) string {
	lowered, served, refusals := Lower(table, c)
	if len(refusals) > 0 {
		return fmt.Sprintf("refused: %v", refusals)
	}
	for _, l := range lowered.Listeners {
		if problem := specified(served, l, requests).differs(c.Dialect, true); problem != "" {
			return problem
		}
	}
	return ""
}

// A specification is what requests to a listener are to be answered with.
type specification struct {
	table    *precedence.Table
	listener lb.Listener
	requests []routing.Request
	wanted   []string
	said     []string // by the rules of the listener, and by its default
}

func specified(t *precedence.Table, l lb.Listener, requests []routing.Request) specification {
	s := specification{table: t, listener: l}
	for _, r := range requests {
		if r.Port == l.Port {
			s.requests, s.wanted = append(s.requests, r), append(s.wanted, lb.FromRouting(t.Match(r).Action).Key())
		}
	}
	for _, r := range l.Rules {
		s.said = append(s.said, r.Action.Key())
	}
	s.said = append(s.said, l.Default.Key())
	return s
}

// differs says how the answers of a cloud differ, or "". Where each rule has to be reached, it says which one is not.
func (s specification) differs(d lb.Dialect, reach bool) string {
	m, reached := lb.NewMatcher(s.listener, d), make([]bool, len(s.said))
	for i, r := range s.requests {
		rule, _ := m.Match(r)
		at := rule
		if rule < 0 {
			at = len(s.said) - 1
		}
		reached[at] = true
		if s.said[at] != s.wanted[i] {
			return fmt.Sprintf("%+v: rule %d says %s, the specification %s (%s)", r, rule, s.said[at], s.wanted[i], s.table.Match(r).Why()) + dump(s.listener)
		}
	}
	if i := slices.Index(reached[:len(s.said)-1], false); reach && i >= 0 {
		return fmt.Sprintf("rule %d on %d is never reached", i, s.listener.Port) + dump(s.listener)
	}
	return ""
}

func dump(l lb.Listener) string {
	out := ""
	for i, r := range l.Rules {
		out += fmt.Sprintf("\n%3d %s", i, r.Key())
	}
	return out + fmt.Sprintf("\n    otherwise %s", l.Default)
}

// choose calls f with every selection of up to most of n things.
func choose(n, most int, f func(picked []int)) {
	var pick func(from int, picked []int)
	pick = func(from int, picked []int) {
		if len(picked) > 0 {
			f(picked)
		}
		if len(picked) == most {
			return
		}
		for i := from; i < n; i++ {
			pick(i+1, append(picked, i))
		}
	}
	pick(0, make([]int, 0, most))
}

func TestEverySmallTableIsExact(t *testing.T) {
	var routes []routing.Route
	for _, h := range smallHosts {
		for _, p := range smallPaths {
			for _, s := range []string{"A", "B"} {
				routes = append(routes, aRoute("one", h, p, s, len(routes), 80))
			}
		}
	}
	requests := grid(80, gridHosts, gridPaths)
	most, want := 3, 36050
	if testing.Short() {
		most, want = 2, 1830
	}
	for _, c := range nightly.Some(t, 1, []lb.Capabilities{lb.Literal(), lb.ALB(), lb.ALBGlob()}) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			start, tables := time.Now(), 0
			choose(len(routes), most, func(picked []int) {
				tables++
				var config routing.Config
				for _, i := range picked {
					config.Routes = append(config.Routes, routes[i])
				}
				if problem := differs(tableOf(config), c, requests); problem != "" && !t.Failed() {
					t.Errorf("%v: %s", config.Routes, problem)
				}
			})
			if tables != want {
				t.Errorf("looked at %d tables, want %d", tables, want)
			}
			t.Logf("%d tables in %v", tables, time.Since(start))
		})
	}
}

// The same with hosts that spec.tls lists: rules on either port, and listed hosts on the second.
func TestEverySmallTableWithListedHostsIsExact(t *testing.T) {
	// A piece is a route, or a listed host with the routes that answer for it.
	type piece struct {
		routes []routing.Route
		listed []routing.Name
		rest   []routing.Default
	}
	var pieces []piece
	paths := []routing.Path{routing.Root, {Type: routing.Prefix, Value: "/a"}, {Type: routing.Exact, Value: "/a"}}
	two := routing.Owner{Namespace: "test", Name: "two"}
	for _, h := range smallHosts {
		for i, p := range paths {
			pieces = append(pieces,
				piece{routes: []routing.Route{aRoute("one", h, p, "A", i, 80)}},
				piece{routes: []routing.Route{aRoute("one", h, p, "B", 10+i, 443)}},
			)
		}
	}
	for _, c := range []struct{ host, by routing.Host }{{"x.a.test", "*.a.test"}, {"x.a.test", routing.Any}, {"*.a.test", routing.Any}} {
		listed := &routing.Listed{By: c.by}
		name := routing.Name{Host: c.host, Listed: listed, Owner: two, Ports: []int32{443}}
		rest := routing.Default{Owner: two, Action: routing.To("D"), Ports: []int32{80}}
		pieces = append(pieces, piece{listed: []routing.Name{name}, rest: []routing.Default{rest}})
		for i, p := range paths {
			r := aRoute("two", c.host, p, "B", 20+i, 443)
			r.Listed = listed
			pieces = append(pieces, piece{routes: []routing.Route{r}, listed: []routing.Name{name}})
		}
	}
	requests := slices.Concat(grid(80, gridHosts, gridPaths), grid(443, gridHosts, gridPaths))
	most, want := 3, 4525
	if testing.Short() {
		most, want = 2, 465
	}
	for _, c := range []lb.Capabilities{lb.Literal(), lb.ALB(), lb.ALBGlob()} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			tables := 0
			choose(len(pieces), most, func(picked []int) {
				config := routing.Config{
					HostMiss:  routing.HostMiss(tables % 2),
					Listeners: []routing.Listener{{Port: 80, Protocol: "HTTP"}, {Port: 443, Protocol: "HTTPS"}},
				}
				tables++
				for _, i := range picked {
					config.Routes = append(config.Routes, pieces[i].routes...)
					config.Names = append(config.Names, pieces[i].listed...)
					config.Defaults = append(config.Defaults, pieces[i].rest...)
				}
				if problem := differs(tableOf(config), c, requests); problem != "" && !t.Failed() {
					t.Errorf("%v: %s", config, problem)
				}
			})
			if tables != want {
				t.Errorf("looked at %d tables, want %d", tables, want)
			}
		})
	}
}
