package lowering

import (
	"math/bits"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// Rules are a quota and a price. Here their number is compared with the best there is, found by
// trying everything that the words allow: routes of one action share a rule when their hosts and
// paths make a full grid and no route between them overlaps and does something else; a route or
// a guard that makes no difference may be left out.

// obvious is a table as one list of claims in precedence: each level's routes, closed by a 404
// for a named host, with what each claim matches among a few classes of requests.
type obvious struct {
	claims    []obviousClaim
	otherwise string
	outcomes  []string // what each class must get
}

type obviousClaim struct {
	host    routing.Host
	path    routing.Path
	action  string
	classes uint32
}

func obviousOf(t *precedence.Table, requests []routing.Request) obvious {
	o := obvious{otherwise: "404"}
	add := func(h routing.Host, p routing.Path, action string) {
		c := obviousClaim{host: h, path: p, action: action}
		for i, r := range requests {
			if h.Covers(routing.Host(r.Host)) && p.Matches(r.Path) {
				c.classes |= 1 << i
			}
		}
		o.claims = append(o.claims, c)
	}
	for _, l := range t.Levels(80) {
		taken := map[routing.Path]bool{}
		for _, r := range l.Routes {
			if !taken[r.Path] {
				taken[r.Path] = true
				add(l.Host, r.Path, r.Action.Key())
			}
		}
		if l.Host != routing.Any {
			add(l.Host, routing.Root, "404")
		} else if taken[routing.Root] {
			last := len(o.claims) - 1 // the listener's default is no rule
			o.otherwise, o.claims = o.claims[last].action, o.claims[:last]
		}
	}
	o.outcomes = o.answer(0, len(requests))
	return o
}

// answer is what each class gets from the claims that are not dropped.
func (o obvious) answer(dropped uint32, classes int) []string {
	out := make([]string, classes)
	for class := range out {
		out[class] = o.otherwise
		for i, c := range o.claims {
			if dropped>>i&1 == 0 && c.classes>>class&1 == 1 {
				out[class] = c.action
				break
			}
		}
	}
	return out
}

// best is the least number of rules.
func (o obvious) best() int {
	least := len(o.claims)
	for dropped := uint32(0); dropped < 1<<len(o.claims); dropped++ {
		same := true
		for i, got := range o.answer(dropped, len(o.outcomes)) {
			same = same && got == o.outcomes[i]
		}
		if same {
			least = min(least, o.fewest(dropped, least))
		}
	}
	return least
}

// fewest packs the claims that are left into rules, by walking breadth first over the sets of
// claims that have their rule.
func (o obvious) fewest(dropped uint32, most int) int {
	all := uint32(1)<<len(o.claims) - 1
	reach := map[uint32]bool{dropped: true}
	for n := range most {
		next := map[uint32]bool{}
		for placed := range reach {
			if placed == all {
				return n
			}
			for i := range o.claims {
				if placed>>i&1 == 0 && o.free(i, placed) {
					for _, rule := range o.grids(i, placed) {
						next[placed|rule] = true
					}
				}
			}
		}
		reach = next
	}
	return most
}

// free reports whether all that must come before a claim has its rule.
func (o obvious) free(i int, placed uint32) bool {
	for e := range i {
		if placed>>e&1 == 0 && o.claims[e].classes&o.claims[i].classes != 0 && o.claims[e].action != o.claims[i].action {
			return false
		}
	}
	return true
}

// grids are the rules that a claim can be part of now: full grids of hosts and paths.
func (o obvious) grids(i int, placed uint32) []uint32 {
	var same []int
	hosts, paths := map[routing.Host]int{}, map[routing.Path]int{}
	for j, c := range o.claims {
		if c.action == o.claims[i].action && placed>>j&1 == 0 && o.free(j, placed) {
			same = append(same, j)
			if _, ok := hosts[c.host]; !ok {
				hosts[c.host] = len(hosts)
			}
			if _, ok := paths[c.path]; !ok {
				paths[c.path] = len(paths)
			}
		}
	}
	var out []uint32
	for set := 1; set < 1<<len(same); set++ {
		var mask uint32
		var h, p uint32
		for k, j := range same {
			if set>>k&1 == 1 {
				mask |= 1 << j
				h |= 1 << hosts[o.claims[j].host]
				p |= 1 << paths[o.claims[j].path]
			}
		}
		if mask>>i&1 == 1 && bits.OnesCount32(mask) == bits.OnesCount32(h)*bits.OnesCount32(p) {
			out = append(out, mask)
		}
	}
	return out
}

func TestRuleCountsEqualBruteForce(t *testing.T) {
	alphabets := map[string]struct {
		hosts []routing.Host
		names []string // a request for each class of hosts
	}{
		"a precise host and no host":      {[]routing.Host{"x.a.test", routing.Any}, []string{"x.a.test", "z.test"}},
		"two precise hosts":               {[]routing.Host{"x.a.test", "y.a.test"}, []string{"x.a.test", "y.a.test"}},
		"a precise host and its wildcard": {[]routing.Host{"x.a.test", "*.a.test"}, []string{"x.a.test", "y.a.test"}},
	}
	paths := []routing.Path{
		{Type: routing.Exact, Value: "/a"}, {Type: routing.Prefix, Value: "/"},
		{Type: routing.Prefix, Value: "/a"}, {Type: routing.Prefix, Value: "/a/b"},
	}
	classes := []string{"/", "/a", "/a/c", "/a/b"}
	most, want := 6, 14892
	if testing.Short() {
		most, want = 4, 2516
	}
	for name, alphabet := range alphabets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var routes []routing.Route
			for _, h := range alphabet.hosts {
				for _, p := range paths {
					for _, s := range []string{"A", "B"} {
						routes = append(routes, aRoute("one", h, p, s, len(routes), 80))
					}
				}
			}
			requests := grid(80, append(alphabet.names, "none.test"), classes)
			type answer struct{ best, rules int }
			known := map[string]answer{}
			sets, worse := 0, 0
			choose(len(routes), most, func(picked []int) {
				sets++
				var config routing.Config
				won := map[string]bool{}
				key := ""
				for _, i := range picked {
					r := routes[i]
					config.Routes = append(config.Routes, r)
					if claim := string(r.Host) + r.Path.String(); !won[claim] {
						won[claim] = true
						key += claim + r.Action.Key() + "|"
					}
				}
				a, ok := known[key]
				if !ok {
					table := tableOf(config)
					lowered, _, _ := Lower(table, lb.Literal())
					a = answer{obviousOf(table, requests).best(), len(lowered.Listeners[0].Rules)}
					known[key] = a
					if a.best != a.rules {
						t.Logf("%d rules, best %d: %v%s", a.rules, a.best, describe(config.Routes), dump(lowered.Listeners[0]))
					}
				}
				if a.best != a.rules {
					worse++
				}
			})
			if sets != want || worse > 0 {
				t.Errorf("of %d sets (want %d) %d have more or fewer rules than brute force", sets, want, worse)
			}
		})
	}
}

func describe(routes []routing.Route) []string {
	var out []string
	for _, r := range routes {
		out = append(out, string(r.Host)+" "+r.Path.String()+"→"+string(r.Action.Forward[0].Backend))
	}
	return out
}
