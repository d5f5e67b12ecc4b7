package lowering

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// A claim is one route as an ordered list of rules sees it: a host, a path and what to do. A
// level's claims stand in precedence; the levels follow one another, the more specific first.
// The answer to requests that miss all paths of a level is a claim too, a catch-all, which belongs
// to no Ingress.
type claim struct {
	path     routing.Path
	when     routing.Conditions
	action   lb.Action
	group    *group
	catchAll bool
	origin   diag.Source
}

// A group is of claims that may share a rule: same Ingress, same action, same further
// conditions. Catch-alls share with catch-alls. A port has one group of each kind, so groups are
// compared by address.
type group struct{ owner, action, when string }

// claims are what a port's levels ask for, with catch-alls only where they make a difference and
// without claims that a later one of the same group makes superfluous.
type claims struct {
	table    *precedence.Table
	port     int32
	protocol routing.Protocol
	paths    *pathSets
	byHost   map[routing.Host][]claim // levels as they are, before anything is left out
	fallback claim                    // the listener's default
	groups   map[group]*group
}

func newClaims(t *precedence.Table, l routing.Listener, paths *pathSets) *claims {
	port := l.Port
	c := &claims{table: t, port: port, protocol: l.Protocol, paths: paths,
		byHost: map[routing.Host][]claim{}, groups: map[group]*group{}}
	c.fallback = c.miss(t.Level(port, routing.Any))
	routes := c.routes(t.Level(port, routing.Any))
	if c.fallback.action.Rewrite != nil { // which a listener's default does not do
		routes, c.fallback = append(routes, c.fallback), c.miss(nil)
	}
	if last := len(routes) - 1; last >= 0 && routes[last].path == routing.Root &&
		len(routes[last].when) == 0 && routes[last].action.Rewrite == nil {
		routes, c.fallback = routes[:last], routes[last]
	}
	c.byHost[routing.Any] = routes
	return c
}

// level is everything that one host's rules must say. Left out, from the last to the first, is
// what makes no difference: a claim whose requests would meet the same group further down, a
// catch-all whose requests would meet the same action, and what the host's own routes leave no
// request for.
func (c *claims) level(l *precedence.Level) []claim {
	all := c.whole(l)
	index := newClaimIndex(all, c.table.HostMiss == routing.MissAnswers, c.paths)
	later := c.below(l.Host)
	for i := len(all) - 1; i >= 0; i-- {
		index.dropped[i] = index.redundant(i, later) ||
			(all[i].catchAll || !index.ranked) && !index.reaches(i, all[i].path)
	}
	kept := make([]claim, 0, len(all))
	for i, cl := range all {
		if !index.dropped[i] {
			kept = append(kept, cl)
		}
	}
	return kept
}

// whole is a level's claims, closed by the claim that answers its misses where it keeps them.
func (c *claims) whole(l *precedence.Level) []claim {
	if all, ok := c.byHost[l.Host]; ok {
		return all
	}
	all := c.routes(l)
	switch {
	case l.Closed:
		all = []claim{c.miss(nil)}
	case len(all) > 0 && all[len(all)-1].path == routing.Root && len(all[len(all)-1].when) == 0:
		// Nothing misses.
	case l.Stops || l.Miss != nil:
		// A default comes after the paths of the less specific hosts, and what a level stops comes before
		// the next one in the order of rules. So the routes that it goes on to are said here again, for
		// this host alone.
		for _, next := range l.Next {
			all = append(all, c.routes(next)...)
		}
		all = append(all, c.miss(answering(l)))
	}
	c.byHost[l.Host] = once(all)
	return c.byHost[l.Host]
}

// once are claims without those that ask for the same requests as one before.
func once(all []claim) []claim {
	type extent struct {
		path routing.Path
		when string
	}
	known := make(map[extent]bool, len(all))
	return slices.DeleteFunc(all, func(cl claim) bool {
		e := extent{cl.path, cl.group.when}
		again := known[e]
		known[e] = true
		return again
	})
}

// answering is the level whose default answers what no route matches of a level and of those that
// it goes on to.
func answering(l *precedence.Level) *precedence.Level {
	for _, next := range l.Next {
		if l.Miss == nil && next.Miss != nil {
			return next
		}
	}
	return l
}

func (c *claims) parent(h routing.Host) *precedence.Level {
	if h.Wildcard() {
		return nil
	}
	p, ok := h.Parent()
	if !ok {
		return nil
	}
	return c.table.Level(c.port, p)
}

// below are the claims that a request of this host meets once it has passed its own level: those of
// one level after the other.
func (c *claims) below(h routing.Host) [][]claim {
	var later [][]claim
	if parent := c.parent(h); parent != nil {
		later = append(later, c.whole(parent))
	}
	if h != routing.Any {
		later = append(later, c.byHost[routing.Any])
	}
	return append(later, []claim{c.fallback})
}

// routes are the reachable routes of a level as claims.
func (c *claims) routes(l *precedence.Level) []claim {
	live, _ := l.Reachable()
	out := make([]claim, len(live))
	for i, r := range live {
		out[i] = c.claim(r)
	}
	return out
}

func (c *claims) claim(r *routing.Route) claim {
	action, path := lb.FromRouting(r.Action.On(c.protocol)), r.Path
	if path.Type == routing.Glob && path.Value != "/" && strings.TrimRight(path.Value, "*") == "/" {
		path = routing.Root // the same paths, and it needs no condition
	}
	return claim{path: path, when: r.When, action: action, origin: r.Source,
		group: c.group(r.Owner.String(), action, r.When)}
}

// group is the group of an owner's claims of one action.
func (c *claims) group(owner string, a lb.Action, when routing.Conditions) *group {
	g := group{owner, a.Key(), when.Key()}
	if a.Auth != nil {
		g.action += a.Auth.ClientSecret.Digest() // which is not part of what rules are known by
	}
	known := c.groups[g]
	if known == nil {
		known = &g
		c.groups[g] = known
	}
	return known
}

// miss is the claim that answers what no path of a level matches.
func (c *claims) miss(l *precedence.Level) claim {
	if l == nil || l.Miss == nil {
		action := lb.FromRouting(routing.NotFound())
		return claim{path: routing.Root, action: action, catchAll: true, group: c.group("", action, nil)}
	}
	action := lb.FromRouting(l.Miss.Action.On(c.protocol))
	return claim{path: routing.Root, action: action, catchAll: true, origin: l.Miss.Source,
		group: c.group(l.Miss.Owner.String(), action, nil)}
}
