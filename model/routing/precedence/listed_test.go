package precedence

import (
	"fmt"
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// A small world of listed hosts: two Ingresses, rules for a host, for its wildcard and for no host,
// on either port, and hosts that spec.tls lists. Every table of it is compared with docs/reference/routing.md
// read sentence by sentence, without levels.

// answerOf is what docs/reference/routing.md says a request gets, of a Config whose paths are all prefixes.
func answerOf(c routing.Config, q routing.Request) string {
	served := func(n routing.Name) bool { return slices.Contains(n.Ports, q.Port) }
	ruleServedBy := func(h routing.Host, by func(routing.Owner) bool) bool {
		return slices.ContainsFunc(c.Names, func(n routing.Name) bool { return n.Listed == nil && n.Host == h && served(n) && by(n.Owner) })
	}
	ruleServed := func(h routing.Host) bool { return ruleServedBy(h, func(routing.Owner) bool { return true }) }
	// listers are the Ingresses that answer for a listed host.
	listers := func(h routing.Host) []routing.Owner {
		var wildcard, others []routing.Owner
		for _, n := range c.Names {
			if n.Listed == nil || n.Host != h || !served(n) || ruleServed(h) {
				continue
			}
			parent, precise := h.Parent()
			permitted := func(o routing.Owner) bool { return !c.HostsOwned || o.Namespace == n.Owner.Namespace }
			switch precise = precise && !h.Wildcard(); {
			case n.Listed.By != routing.Any:
				wildcard = append(wildcard, n.Owner)
			case !precise || !ruleServedBy(parent, permitted):
				others = append(others, n.Owner)
			}
		}
		if wildcard != nil {
			return wildcard
		}
		return others
	}
	best := func(of func(routing.Route) bool) string {
		var won *routing.Route
		for i := range c.Routes {
			r := &c.Routes[i]
			if !of(*r) || !slices.Contains(r.Ports, q.Port) || !r.Path.Matches(q.Path) {
				continue
			}
			longer := won != nil && len(r.Path.Value)-len(won.Path.Value) > 0
			if won == nil || longer || len(r.Path.Value) == len(won.Path.Value) && settle(r, won) < 0 {
				won = r
			}
		}
		if won == nil {
			return ""
		}
		return won.Action.Key()
	}
	oldest := func(of func(routing.Default) bool) string {
		var won *routing.Default
		for i := range c.Defaults {
			if d := &c.Defaults[i]; of(*d) && (won == nil || routing.Older(d.Owner, won.Owner) < 0) {
				won = d
			}
		}
		if won == nil {
			return ""
		}
		return won.Action.Key()
	}
	var paths, misses []string
	beside := func(h routing.Host) bool {
		return (c.HostMiss == routing.MissAnswers || c.HostsOwned) && slices.ContainsFunc(c.Names, func(n routing.Name) bool { return n.Host == h && n.Beside }) &&
			!slices.ContainsFunc(c.Names, func(n routing.Name) bool { return n.Listed == nil && n.Host == h })
	}
	passes, decided := false, ""
	for _, h := range routing.Levels(q.Hostname()) {
		lists := listers(h)
		if passes && h.Wildcard() {
			continue
		}
		by := hostOwner(c, h)
		if c.HostsOwned && decided != "" && by != "" && by != decided {
			continue // what misses the paths of a host goes on to nothing of another namespace
		}
		passes = passes || beside(h)
		switch {
		case h == routing.Any:
			paths = append(paths, best(func(r routing.Route) bool { return r.Host == routing.Any }))
			misses = append(misses, oldest(func(d routing.Default) bool { return slices.Contains(d.Ports, q.Port) }))
		case ruleServed(h):
			paths = append(paths, best(func(r routing.Route) bool { return r.Listed == nil && r.Host == h }))
			misses = append(misses, oldest(func(d routing.Default) bool {
				return slices.ContainsFunc(c.Names, func(n routing.Name) bool { return n.Listed == nil && n.Host == h && n.Owner == d.Owner && served(n) })
			}))
		case lists != nil:
			for _, wildcard := range []bool{true, false} {
				paths = append(paths, best(func(r routing.Route) bool {
					return r.Listed != nil && r.Host == h && slices.Contains(lists, r.Owner) && (r.Listed.By != routing.Any) == wildcard
				}))
			}
			misses = append(misses, oldest(func(d routing.Default) bool { return slices.Contains(lists, d.Owner) }))
		case slices.ContainsFunc(c.Names, func(n routing.Name) bool { return n.Listed == nil && n.Host == h }):
			misses = append(misses, "404") // named, and not served here
		default:
			continue
		}
		decided = by
		if c.HostMiss == routing.MissAnswers || misses[len(misses)-1] == "404" {
			break
		}
	}
	for _, answer := range append(paths, misses...) {
		if answer != "" {
			return answer
		}
	}
	return "404"
}

// hostOwner is the namespace that a host belongs to; "" where none has it.
func hostOwner(c routing.Config, h routing.Host) string {
	for _, n := range c.Names {
		if n.Host == h {
			return n.Owner.Namespace
		}
	}
	for _, r := range c.Routes {
		if r.Host == h {
			return r.Owner.Namespace
		}
	}
	for _, d := range c.Defaults {
		if h == routing.Any {
			return d.Owner.Namespace
		}
	}
	return ""
}

// oneOwnerEach reports whether each host belongs to one namespace, and names are Beside for
// wildcards of other ones only.
func oneOwnerEach(c routing.Config) bool {
	foreign := func(h routing.Host, o routing.Owner) bool { return o.Namespace != hostOwner(c, h) }
	return !slices.ContainsFunc(c.Names, func(n routing.Name) bool {
		parent, _ := n.Host.Parent()
		return foreign(n.Host, n.Owner) || n.Beside && !foreign(parent, n.Owner)
	}) &&
		!slices.ContainsFunc(c.Routes, func(r routing.Route) bool { return foreign(r.Host, r.Owner) }) &&
		!slices.ContainsFunc(c.Defaults, func(d routing.Default) bool { return foreign(routing.Any, d.Owner) })
}

func TestEverySmallTableOfListedHosts(t *testing.T) {
	const host, wildcard = routing.Host("x.a.test"), routing.Host("*.a.test")
	a, b := routing.Owner{Namespace: "test", Name: "a"}, routing.Owner{Namespace: "other", Name: "b"}
	// A piece is what an Ingress may have, alone or beside others.
	type piece struct {
		name string
		add  func(c *routing.Config)
	}
	var pieces []piece
	add := func(name string, f func(c *routing.Config)) { pieces = append(pieces, piece{name, f}) }
	prefix := func(path string) routing.Path { return routing.NewPath(routing.Prefix, path) }
	for _, owner := range []routing.Owner{a, b} {
		for _, h := range []routing.Host{host, wildcard, routing.Any} {
			for _, ports := range [][]int32{{80}, {443}} {
				add(fmt.Sprint(owner, " rule ", h, ports), func(c *routing.Config) {
					action := routing.To(routing.BackendID(fmt.Sprint(owner.Name, ":", h, ":", ports)))
					c.Routes = append(c.Routes, routing.Route{Host: h, Path: prefix("/p"), Spelt: "/p", Action: action, Ports: ports, Owner: owner, Index: len(c.Routes)})
					if h != routing.Any {
						c.Names = append(c.Names, routing.Name{Host: h, Owner: owner, Ports: ports})
					}
				})
			}
		}
		for _, listed := range []struct {
			host, by routing.Host
			path     string
		}{{host, wildcard, "/p"}, {host, routing.Any, "/p"}, {host, routing.Any, "/"}, {host, routing.Any, ""}, {wildcard, routing.Any, "/"}, {wildcard, routing.Any, ""}} {
			add(fmt.Sprint(owner, " lists ", listed), func(c *routing.Config) {
				from, ports := &routing.Listed{By: listed.by}, []int32{443}
				if listed.path != "" {
					action := routing.To(routing.BackendID(fmt.Sprint(owner.Name, " lists ", listed)))
					c.Routes = append(c.Routes, routing.Route{Host: listed.host, Listed: from, Path: prefix(listed.path), Spelt: listed.path, Action: action, Ports: ports, Owner: owner, Index: len(c.Routes)})
				}
				c.Names = append(c.Names, routing.Name{Host: listed.host, Listed: from, Owner: owner, Ports: ports})
			})
		}
		add(fmt.Sprint(owner, " lists ", host, " below a wildcard"), func(c *routing.Config) {
			c.Names = append(c.Names, routing.Name{Host: host, Listed: &routing.Listed{By: routing.Any}, Owner: owner, Beside: true})
		})
		add(fmt.Sprint(owner, " default"), func(c *routing.Config) {
			c.Defaults = append(c.Defaults, routing.Default{Action: routing.To(routing.BackendID(owner.Name + ":default")), Ports: []int32{80}, Owner: owner})
		})
	}
	tables, listedDecides := 0, 0
	var choose func(from int, picked []piece)
	choose = func(from int, picked []piece) {
		for _, setting := range []struct {
			miss  routing.HostMiss
			owned bool
		}{{routing.MissAnswers, false}, {routing.MissFallsThrough, false}, {routing.MissAnswers, true}, {routing.MissFallsThrough, true}} {
			c := routing.Config{HostMiss: setting.miss, HostsOwned: setting.owned, Listeners: []routing.Listener{{Port: 80, Protocol: "HTTP"}, {Port: 443, Protocol: "HTTPS"}}}
			for _, p := range picked {
				p.add(&c)
			}
			if setting.miss == routing.MissFallsThrough && setting.owned && !oneOwnerEach(c) {
				continue
			}
			tables++
			table := New(c)
			for _, port := range []int32{80, 443} {
				for _, h := range []string{"x.a.test", "y.a.test", "z.test"} {
					if level := table.Level(port, routing.Host(h)); level != nil && level.listers != nil {
						listedDecides++
					}
					for _, path := range []string{"/", "/p", "/p/q"} {
						q := routing.Request{Port: port, Host: h, Path: path}
						if got, want := table.Match(q).Action.Key(), answerOf(c, q); got != want && !t.Failed() {
							t.Errorf("%+v, %v:\n%d %s%s goes to %s (%s), want %s", setting, picked, port, h, path, got, table.Match(q).Why(), want)
						}
					}
				}
			}
		}
		if len(picked) == 4 {
			return
		}
		for i := from; i < len(pieces); i++ {
			choose(i+1, append(slices.Clone(picked), pieces[i]))
		}
	}
	choose(0, nil)
	t.Logf("%d tables, in %d a listed host decides", tables, listedDecides)
	if listedDecides < tables/10 {
		t.Error("few tables have listed hosts")
	}
}

// On port 80 nothing changes by what spec.tls lists.
func TestAListedHostClosesNoPort(t *testing.T) {
	everything := route(older, "- /", "any", 0)
	listed := routing.Route{Host: "x.test.io", Listed: &routing.Listed{By: routing.Any}, Path: routing.Root, Spelt: "/", Action: routing.To("any"), Ports: []int32{443}, Owner: older}
	tab := New(routing.Config{
		Routes:    []routing.Route{everything, listed},
		Names:     []routing.Name{{Host: "x.test.io", Listed: &routing.Listed{By: routing.Any}, Owner: older, Ports: []int32{443}}},
		Listeners: []routing.Listener{{Port: 80, Protocol: "HTTP"}, {Port: 443, Protocol: "HTTPS"}, {Port: 8443, Protocol: "HTTPS"}},
	})
	for _, c := range []struct {
		port       int32
		host, want string
	}{{80, "x.test.io", "any"}, {80, "y.test.io", "any"}, {443, "x.test.io", "any"}, {443, "y.test.io", "404"}, {8443, "x.test.io", "404"}} {
		got := tab.Match(routing.Request{Port: c.port, Host: c.host, Path: "/"})
		if got.Action.Key() != c.want {
			t.Errorf("%s on %d goes to %s (%s)", c.host, c.port, got.Action.Key(), got.Why())
		}
	}
}

// Hosts below a wildcard of another namespace multiply with the paths for any host that their
// misses go on to. Those that are too many keep their misses, and what they have of their own is
// served.
func TestMissesThatPassOverAWildcardAreBounded(t *testing.T) {
	alice, bob := routing.Owner{Namespace: "alice", Name: "a"}, routing.Owner{Namespace: "bob", Name: "b"}
	c := routing.Config{HostMiss: routing.MissFallsThrough, HostsOwned: true, Listeners: []routing.Listener{{Port: 80, Protocol: "HTTP"}}}
	for i := range 2000 {
		path, host := fmt.Sprintf("/p%d", i), routing.Host(fmt.Sprintf("h%d.test.io", i))
		c.Routes = append(c.Routes, routing.Route{Path: routing.NewPath(routing.Prefix, path), Spelt: path, Action: routing.To("any"), Ports: []int32{80}, Owner: alice, Index: i},
			routing.Route{Host: host, Path: routing.NewPath(routing.Prefix, "/own"), Spelt: "/own", Action: routing.To("own"), Ports: []int32{80}, Owner: alice, Index: i})
		c.Names = append(c.Names, routing.Name{Host: host, Owner: alice, Ports: []int32{80}})
	}
	c.Names = append(c.Names, routing.Name{Host: "*.test.io", Owner: bob, Ports: []int32{80}})
	c.Routes = append(c.Routes, routing.Route{Host: "*.test.io", Path: routing.Root, Spelt: "/", Action: routing.To("wildcard"), Ports: []int32{80}, Owner: bob})
	table := New(c)
	for url, want := range map[string]string{
		"h0.test.io/p7": "any", "h4.test.io/p7": "any", "h5.test.io/p7": "404", "h1999.test.io/p7": "404",
		"h0.test.io/own": "own", "h1999.test.io/own": "own", "other.test.io/p7": "wildcard", "elsewhere.io/p7": "any",
	} {
		if got := table.Match(request(url)).Action.Key(); got != want {
			t.Errorf("%s goes to %s, want %s", url, got, want)
		}
	}
	told := slices.DeleteFunc(table.Diagnostics(), func(d diag.Diagnostic) bool { return d.Reason != diag.TooComplex })
	if len(told) != 1 {
		t.Errorf("told %v", told)
	}
}

// Listed hosts that a wildcard stands for multiply with the paths for any host. Those that are too
// many are closed.
func TestListedHostsBesideAreBounded(t *testing.T) {
	older, younger := routing.Owner{Namespace: "alice", Name: "a"}, routing.Owner{Namespace: "bob", Name: "b"}
	c := routing.Config{HostsOwned: true, Listeners: []routing.Listener{{Port: 80, Protocol: "HTTP"}}}
	for i := range 2000 {
		path := fmt.Sprintf("/p%d", i)
		c.Routes = append(c.Routes, routing.Route{Path: routing.NewPath(routing.Prefix, path), Spelt: path, Action: routing.To("any"), Ports: []int32{80}, Owner: older, Index: i})
		c.Names = append(c.Names, routing.Name{Host: routing.Host(fmt.Sprintf("h%d.test.io", i)), Listed: &routing.Listed{By: routing.Any}, Owner: older, Beside: true})
	}
	c.Names = append(c.Names, routing.Name{Host: "*.test.io", Owner: younger, Ports: []int32{80}})
	c.Routes = append(c.Routes, routing.Route{Host: "*.test.io", Path: routing.Root, Spelt: "/", Action: routing.To("wildcard"), Ports: []int32{80}, Owner: younger})
	table := New(c)
	for host, want := range map[string]string{"h0.test.io": "any", "h4.test.io": "any", "h5.test.io": "404", "h1999.test.io": "404", "other.test.io": "wildcard"} {
		if got := table.Match(routing.Request{Port: 80, Host: host, Path: "/p7"}).Action.Key(); got != want {
			t.Errorf("%s goes to %s, want %s", host, got, want)
		}
	}
	told := 0
	for _, d := range table.Diagnostics() {
		if d.Reason == diag.TooComplex {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the Ingress is told %d times", told)
	}
}
