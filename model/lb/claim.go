package lb

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// A claim is one route as an ordered list of rules sees it: a host, a path and what to do. A
// level's claims stand in precedence; the levels follow one another, the more specific first.
// What a level does not let through is a claim too, a guard: it belongs to nobody.
type claim struct {
	path   routing.Path
	when   routing.Conditions
	action Action
	group  groupKey
	guard  bool
	origin diag.Source
}

// groupKey is equal for claims that may share a rule: same Ingress, same action, same further
// conditions. Guards share with guards.
type groupKey struct{ owner, action, when string }

// claims are what a port's levels ask for, with guards only where they make a difference and
// without claims that a later one of the same group makes superfluous.
type claims struct {
	table    *routing.Table
	port     int32
	paths    *pathSets
	byHost   map[routing.Host][]claim // levels as they are, before anything is left out
	fallback claim                    // the listener's default
}

func newClaims(t *routing.Table, port int32, paths *pathSets) *claims {
	c := &claims{table: t, port: port, paths: paths, byHost: map[routing.Host][]claim{}}
	c.fallback = c.miss(t.Level(port, routing.Any))
	routes := c.routes(t.Level(port, routing.Any))
	if last := len(routes) - 1; last >= 0 && routes[last].path == routing.Root && len(routes[last].when) == 0 && routes[last].action.Rewrite == nil {
		routes, c.fallback = routes[:last], routes[last]
	}
	c.byHost[routing.Any] = routes
	return c
}

// level is everything that one host's rules must say, as far as it is not said below it.
func (c *claims) level(l *routing.Level) []claim {
	all := c.whole(l)
	later := c.below(l.Host)
	if last := len(all) - 1; last >= 0 && all[last].guard && c.idleGuard(all[:last], all[last], later) {
		all = all[:last]
	}
	return c.withoutAbsorbed(all, later)
}

// whole is a level's claims, closed by the claim that answers its misses where it keeps them.
func (c *claims) whole(l *routing.Level) []claim {
	if all, ok := c.byHost[l.Host]; ok {
		return all
	}
	all := c.routes(l)
	switch {
	case l.Closed:
		all = []claim{c.miss(nil)}
	case len(all) > 0 && all[len(all)-1].path == routing.Root && len(all[len(all)-1].when) == 0:
		// Nothing misses.
	case c.table.HostMiss == routing.MissAnswers:
		all = append(all, c.miss(l))
	case l.Miss != nil:
		// The default comes after the paths of the less specific hosts, so their routes are said
		// here again, for this host alone.
		all = append(all, c.inherited(l.Host)...)
		all = append(all, c.miss(l))
	}
	c.byHost[l.Host] = all
	return all
}

// inherited are the routes of the less specific hosts that an open host falls through to.
func (c *claims) inherited(h routing.Host) []claim {
	var out []claim
	if parent := c.parent(h); parent != nil {
		if parent.Closed {
			return nil
		}
		out = append(out, c.routes(parent)...)
	}
	return append(out, c.routes(c.table.Level(c.port, routing.Any))...)
}

func (c *claims) parent(h routing.Host) *routing.Level {
	if h.Wildcard() {
		return nil
	}
	p, ok := h.Parent()
	if !ok {
		return nil
	}
	return c.table.Level(c.port, p)
}

// below are the claims that a request of this host meets once it has passed its own level.
func (c *claims) below(h routing.Host) []claim {
	var later []claim
	if parent := c.parent(h); parent != nil {
		later = append(later, c.whole(parent)...)
	}
	if h != routing.Any {
		later = append(later, c.byHost[routing.Any]...)
	}
	return append(later, c.fallback)
}

// routes are the reachable routes of a level as claims.
func (c *claims) routes(l *routing.Level) []claim {
	live, _ := l.Reach()
	out := make([]claim, len(live))
	for i, r := range live {
		out[i] = c.claim(r)
	}
	return out
}

func (c *claims) claim(r *routing.Route) claim {
	action := FromRouting(r.Action)
	return claim{path: r.Path, when: r.When, action: action, origin: r.Source,
		group: groupKey{r.Owner.String(), action.Key(), r.When.Key()}}
}

// miss is the claim that answers what no path of a level matches.
func (c *claims) miss(l *routing.Level) claim {
	if l == nil || l.Miss == nil {
		action := FromRouting(routing.NotFound())
		return claim{path: routing.Root, action: action, guard: true, group: groupKey{action: action.Key()}}
	}
	action := FromRouting(l.Miss.Action)
	return claim{path: routing.Root, action: action, guard: true, origin: l.Miss.Source,
		group: groupKey{l.Miss.Owner.String(), action.Key(), ""}}
}

// idleGuard reports whether a level's misses would be answered in the same way further down, so
// that the guard says nothing new.
func (c *claims) idleGuard(own []claim, guard claim, later []claim) bool {
	for _, next := range later {
		if next.group.action != guard.group.action && c.paths.escapes(next.path, own) {
			return false
		}
		if next.path == routing.Root && len(next.when) == 0 {
			break
		}
	}
	return true
}

// withoutAbsorbed leaves out the claims that lower ones of their own group cover, where nothing
// between them says otherwise.
func (c *claims) withoutAbsorbed(all, later []claim) []claim {
	index := newClaimIndex(all, c.table.HostMiss == routing.MissAnswers)
	kept := make([]claim, 0, len(all))
	for i, cl := range all {
		if !c.absorbed(cl, index.after(i, cl), later) {
			kept = append(kept, cl)
		}
	}
	return kept
}

// absorbed looks at the claims that a request of cl would meet if cl were not there.
func (c *claims) absorbed(cl claim, same []*claim, later []claim) bool {
	decide := func(next *claim) (absorbed, decided bool) {
		if !c.paths.overlap(cl.path, next.path) {
			return false, false
		}
		if next.group.owner != cl.group.owner || next.group.action != cl.group.action {
			return false, true
		}
		if len(next.when) == 0 && c.paths.contains(next.path, cl.path) {
			return true, true
		}
		return false, false
	}
	for _, next := range same {
		if yes, decided := decide(next); decided {
			return yes
		}
	}
	for i := range later {
		if yes, decided := decide(&later[i]); decided {
			return yes
		}
	}
	return false
}

// A claimIndex finds the claims of one level that may overlap a given one without looking at all
// of them: prefixes by walking up the path, the others one by one.
type claimIndex struct {
	all      []claim
	ranked   bool // by precedence throughout: nothing that lies deeper comes later
	prefixes map[string][]int
	others   []int // globs and regular expressions
}

func newClaimIndex(all []claim, ranked bool) *claimIndex {
	x := &claimIndex{all: all, ranked: ranked, prefixes: make(map[string][]int, len(all))}
	for i, cl := range all {
		switch cl.path.Type {
		case routing.Prefix:
			x.prefixes[cl.path.Value] = append(x.prefixes[cl.path.Value], i)
		case routing.Glob, routing.Regex:
			x.others = append(x.others, i)
		}
	}
	return x
}

// after are the claims behind position i that may overlap the claim there, in order. A claim
// that is not a glob can only meet the prefixes above it and globs.
func (x *claimIndex) after(i int, cl claim) []*claim {
	var at []int
	if !x.ranked || cl.path.Type == routing.Glob || cl.path.Type == routing.Regex {
		for j := i + 1; j < len(x.all); j++ {
			at = append(at, j)
		}
	} else {
		for up := range ancestors(cl.path.Value) {
			at = append(at, x.prefixes[up]...)
		}
		at = append(at, x.others...)
		slices.Sort(at)
	}
	var out []*claim
	for _, j := range at {
		if j > i {
			out = append(out, &x.all[j])
		}
	}
	return out
}

// ancestors are a path and the prefixes above it, up to the root.
func ancestors(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for path != "" {
			if !yield(path) {
				return
			}
			slash := strings.LastIndexByte(path, '/')
			if slash < 0 {
				break
			}
			path = path[:slash]
		}
		yield("/")
	}
}
