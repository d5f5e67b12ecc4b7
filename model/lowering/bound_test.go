package lowering

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// Random tables are too large for brute force. Their rules are held against a lower bound: a set of
// claims of which no two can share a rule needs as many rules as it has claims. Two cannot share
// one if their Ingress or action differs; if a claim of another group between them overlaps both;
// or if, on two hosts, the grid of their hosts and paths is not full.

type placedOnHost struct {
	claim
	host  routing.Host
	order int
}

// lowerBound is the size of such a set, found greedily from several starting points.
func lowerBound(t *precedence.Table, port int32) int {
	sets := &pathSets{Comparer: t.Comparer(), hosts: newNarrower()}
	c := newClaims(t, routing.Listener{Port: port}, sets)
	var all []placedOnHost
	have := map[string]bool{}
	for _, l := range t.Levels(port) {
		own := c.level(l)
		for i, cl := range own {
			all = append(all, placedOnHost{cl, l.Host, i})
			have[fmt.Sprint(l.Host, cl.path, cl.group)] = true
		}
	}
	apart := func(a, b placedOnHost) bool {
		if a.group != b.group {
			return true
		}
		if a.host != b.host && (!have[fmt.Sprint(a.host, b.path, a.group)] || !have[fmt.Sprint(b.host, a.path, a.group)]) {
			return true
		}
		// The one that requests for both meet first.
		if a.host == b.host && a.order > b.order || a.host != b.host && a.host.Covers(b.host) {
			a, b = b, a
		}
		if a.host != b.host && !b.host.Covers(a.host) {
			return false
		}
		return slices.ContainsFunc(all, func(e placedOnHost) bool {
			behind := e.host == a.host && e.order > a.order
			ahead := e.host == b.host && e.order < b.order
			between := behind && ahead || a.host != b.host && (behind || ahead)
			return between && e.group != a.group && sets.overlap(e.group.owner, e.path, a.path) && sets.overlap(e.group.owner, e.path, b.path)
		})
	}
	best := 0
	rng := rand.New(rand.NewPCG(9, 9))
	for range 60 {
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		var set []placedOnHost
		for _, next := range all {
			if !slices.ContainsFunc(set, func(s placedOnHost) bool { return !apart(s, next) }) {
				set = append(set, next)
			}
		}
		best = max(best, len(set))
	}
	return best
}

func TestRandomTablesStayNearTheLowerBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	rules, bound := 0, 0
	for n := range 400 {
		table := randomTable(rng, 5+n%40)
		lowered, served, _ := Lower(table, lb.Literal())
		for _, l := range lowered.Listeners {
			least := lowerBound(served, l.Port)
			rules, bound = rules+len(l.Rules), bound+least
			if len(l.Rules) > least+1 && float64(len(l.Rules)) > 1.25*float64(least) {
				t.Errorf("table %d: %d rules, bound %d%s", n, len(l.Rules), least, dump(l))
			}
		}
	}
	t.Logf("%d rules, lower bound %d: %.3f×", rules, bound, float64(rules)/float64(bound))
}

func TestLongListsOfPathsFillTheirRules(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, c := range []lb.Capabilities{lb.ALBGlob(), lb.ALB()} {
		for _, n := range []int{1, 4, 5, 30, 200, 1000} {
			var config routing.Config
			length := 0
			for i := range n {
				path := fmt.Sprintf("/p%06d", rng.IntN(1e6))
				config.Routes = append(config.Routes, aRoute("one", "x.a.test", routing.Path{Type: routing.Exact, Value: path}, "A", i, 80))
				length += len(path)
			}
			lowered, _, _ := Lower(tableOf(config), c)
			got := len(lowered.Listeners[0].Rules)
			// A rule has a host and four values; a value has room for 122 characters between
			// its anchors and brackets, each path without its slash but with a bar.
			least := (n + 3) / 4
			if c.Regex {
				least = min(least, (length+4*122-1)/(4*122))
			}
			if float64(got) > max(1.25*float64(least), 1) {
				t.Errorf("%s: %d paths in %d rules, lower bound %d", c.Name, n, got, least)
			}
		}
	}
}
