package precedence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/nightly"
)

// A table whose routes are in order answers as a list does that is read from its top, whatever the
// hosts, and whatever levels it has.
func TestATableInOrderIsAList(t *testing.T) {
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	seed := rng.Uint64()
	t.Logf("seed %d", seed)
	rng = rand.New(rand.NewPCG(seed, 0))
	hosts := []string{"x.test.io", "y.test.io", "*.test.io", "q.x.test.io", "-", "-"}
	paths := []string{"=/", "=/a", "=/a/b", "/", "/a", "/a/b", "/b", "/a*", "/*b"}
	names := []string{"x.test.io", "y.test.io", "z.test.io", "q.x.test.io", "other.io"}
	for range nightly.Times(20_000) {
		var c routing.Config
		c.Precedence = routing.InOrder
		c.Listeners = []routing.Listener{{Port: 80, Protocol: "HTTP"}}
		for i := range 1 + rng.IntN(8) {
			owner := routing.Owner{Namespace: "shop", Name: string(rune('a' + rng.IntN(3))), Order: rng.IntN(2),
				Created: time.Unix(int64(rng.IntN(5)), 0)}
			r := route(owner, hosts[rng.IntN(len(hosts))]+" "+paths[rng.IntN(len(paths))], fmt.Sprint(i), i)
			if r.Host == routing.Any && rng.IntN(2) == 0 { // as of a wildcard that spans labels
				r.When = routing.Conditions{{Field: "host", Values: [][]string{{"*.test.io"}, {"*.x.test.io", "other.io"}, {"?.test.io"}}[rng.IntN(3)]}}
			} else if rng.IntN(4) == 0 {
				r.When = routing.Conditions{{Field: "method", Values: []string{"GET"}}}
			}
			c.Routes = append(c.Routes, r)
			if r.Host != routing.Any {
				c.Names = append(c.Names, routing.Name{Host: r.Host, Owner: owner, Ports: []int32{80}})
			}
		}
		if rng.IntN(2) == 0 {
			c.Defaults = []routing.Default{{Action: routing.To("default"), Owner: older, Ports: []int32{80}}}
		}
		list := slices.Clone(c.Routes)
		slices.SortStableFunc(list, func(a, b routing.Route) int {
			if a.Owner.Order != b.Owner.Order {
				return a.Owner.Order - b.Owner.Order
			}
			if a.Owner.Name != b.Owner.Name {
				return strings.Compare(a.Owner.Name, b.Owner.Name)
			}
			return a.Index - b.Index
		})
		table := New(c)
		for _, name := range names {
			for _, path := range []string{"/", "/a", "/a/", "/a/b", "/a/c", "/ab", "/b", "/bb", "/c"} {
				for _, method := range []string{"GET", "POST"} {
					q := routing.Request{Port: 80, Host: name, Path: path, Method: method}
					want := "404"
					if len(c.Defaults) > 0 {
						want = "default"
					}
					for _, r := range list {
						if r.Host.Covers(routing.Host(name)) && r.Path.Matches(path) && r.When.Match(q) {
							want = r.Action.Key()
							break
						}
					}
					if got := table.Match(q); got.Action.Key() != want {
						t.Fatalf("%s %s%s goes to %s (%s), want %s of %v", method, name, path, got.Action.Key(), got.Why(), want, list)
					}
				}
			}
		}
	}
}

// Where the order is that of the specification, no route is repeated.
func TestWhereOrderAndSpecificityAgreeNoRouteIsRepeated(t *testing.T) {
	first, second := routing.Owner{Namespace: "shop", Name: "a"}, routing.Owner{Namespace: "shop", Name: "b"}
	specific, general := route(first, "x.test.io /a", "specific", 0), route(second, "- /", "general", 0)
	for name, c := range map[string]struct {
		order []routing.Route
		want  int
	}{
		"the specific one first":               {[]routing.Route{specific, general}, 1},
		"the general one first":                {[]routing.Route{{Owner: first}, {Owner: second}}, 2},
		"the general one first, of no Ingress": {[]routing.Route{{}, {Owner: second}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := specific, general
			if c.order[0].Host != a.Host {
				a.Owner, b.Owner = second, c.order[0].Owner
			}
			tab := New(routing.Config{Routes: []routing.Route{a, b}, Precedence: routing.InOrder,
				Listeners: []routing.Listener{{Port: 80, Protocol: "HTTP"}}})
			if got := len(tab.Level(80, "x.test.io").Routes); got != c.want {
				t.Errorf("the host has %d routes, want %d", got, c.want)
			}
		})
	}
}

// Where hosts have owners, each namespace has the bound of repeated routes for itself.
func TestRepeatedRoutesAreBoundedForEachNamespace(t *testing.T) {
	for _, c := range []struct {
		owned        bool
		alices, bobs int // hosts, with 100 routes before each
		exceeds      bool
	}{{true, 100, 100, false}, {true, 101, 1, true}, {true, 1, 101, true}, {false, 50, 50, false}, {false, 51, 50, true}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			config := routing.Config{Precedence: routing.InOrder, HostsOwned: c.owned, Listeners: []routing.Listener{{Port: 80, Protocol: "HTTP"}}}
			for namespace, n := range map[string]int{"alice": c.alices, "bob": c.bobs} {
				add := func(name, host, path string, i int) {
					owner := routing.Owner{Namespace: namespace, Name: name}
					config.Routes = append(config.Routes, route(owner, host+" "+path, name, i))
					config.Names = append(config.Names, routing.Name{Host: routing.Host(host), Owner: owner, Ports: []int32{80}})
				}
				for i := range 100 {
					add("a", "*."+namespace+".test", fmt.Sprintf("/p%d", i), i)
				}
				for i := range n {
					add("b", fmt.Sprintf("h%d.%s.test", i, namespace), "/own", i)
				}
			}
			if got := New(config).Excess(); (got != "") != c.exceeds || strings.Contains(got, "of one namespace") != (c.exceeds && c.owned) {
				t.Errorf("told is %q", got)
			}
		})
	}
}

// Routes with a condition on the host are repeated for the hosts that fulfil it, and count for them alone.
func TestRoutesForOtherHostsAreNotRepeated(t *testing.T) {
	config := routing.Config{Precedence: routing.InOrder, Listeners: []routing.Listener{{Port: 80, Protocol: routing.HTTP}}}
	for i := range 200 {
		wild := route(routing.Owner{Namespace: "shop", Name: "a"}, "- /", "wild", i)
		wild.When = routing.Conditions{{Field: "host", Values: []string{fmt.Sprintf("*.d%d.test", i)}}}
		config.Routes = append(config.Routes, wild, route(routing.Owner{Namespace: "shop", Name: "b"}, fmt.Sprintf("x.d%d.test /", i), "precise", i))
	}
	table := New(config)
	if got := table.Repeated(); got != 200 || table.Excess() != "" {
		t.Errorf("%d routes are repeated, and told is %q", got, table.Excess())
	}
}
