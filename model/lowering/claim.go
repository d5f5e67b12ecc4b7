package lowering

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// A claim is a route as a part of an ordered list of rules: a host, a path and an action. The
// claims of a level are in order of precedence, and more specific levels come first. The answer to
// requests that match no path of a level is a claim, too, a catch-all, which belongs to no Ingress.
type claim struct {
	path     routing.Path
	when     routing.Conditions // what is left of those of the route for requests for its host
	said     routing.Conditions // those of the route
	action   lb.Action
	group    *group
	catchAll bool
	through  bool // a redirect lets it through, and ranks it lower than its path
	origin   diag.Source
}

// A group is for claims that may share a rule: with the same Ingress, action and further
// conditions. Catch-alls share with catch-alls. A port has one group of each kind, so groups are
// compared by address.
type group struct{ owner, action, when string }

// claims holds the claims of a port's levels, with necessary catch-alls, and without claims that a
// later one of the same group makes redundant.
type claims struct {
	table    *precedence.Table
	port     int32
	protocol routing.Protocol
	paths    *pathSets
	byHost   map[routing.Host][]claim // complete levels, with redundant claims
	fallback claim                    // the listener's default
	groups   map[group]*group
}

func newClaims(t *precedence.Table, l routing.Listener, paths *pathSets) *claims {
	port := l.Port
	c := &claims{table: t, port: port, protocol: l.Protocol, paths: paths,
		byHost: map[routing.Host][]claim{}, groups: map[group]*group{}}
	routes := c.routes(t.Level(port, routing.Any), routing.Any)
	misses := c.missClaims(t.Level(port, routing.Any))
	c.fallback = misses[len(misses)-1]
	if last := len(routes) - 1; last < 0 || !routes[last].answersAll() {
		routes = append(routes, misses[:len(misses)-1]...)
	}
	if needsRule(c.fallback.action) {
		routes, c.fallback = append(routes, c.fallback), c.missClaims(nil)[0]
	}
	if last := len(routes) - 1; last >= 0 && routes[last].answersAll() &&
		!needsRule(routes[last].action) {
		routes, c.fallback = routes[:last], routes[last]
	}
	c.byHost[routing.Any] = routes
	return c
}

// needsRule reports whether an action cannot be the default of a listener: that does not rewrite, and
// if the cloud refuses a target group that others made, the others lose the whole port.
func needsRule(a lb.Action) bool {
	return a.Rewrite != nil || slices.ContainsFunc(a.Groups(), lb.OthersMade)
}

// level returns the necessary claims of one host. From the last to the first, it leaves out a claim
// whose requests would meet the same group further down, a catch-all whose requests would meet the
// same action, and claims that no request reaches.
func (c *claims) level(l *precedence.Level) []claim {
	all := c.completeLevel(l)
	ranked := c.table.HostMiss == routing.MissAnswers && !slices.ContainsFunc(all, claim.decided)
	index := newClaimIndex(all, ranked, c.paths)
	if c.fallback.action.Redirect != nil {
		index.redirect = c.fallback.group.action
	}
	later := c.claimsBelow(l.Host)
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

// completeLevel returns a level's claims, and last the claim that answers its misses, if it does
// not pass them on.
func (c *claims) completeLevel(l *precedence.Level) []claim {
	if all, ok := c.byHost[l.Host]; ok {
		return all
	}
	all := c.routes(l, l.Host)
	switch {
	case l.Closed:
		all = c.missClaims(nil)
	case len(all) > 0 && all[len(all)-1].answersAll():
		// No request misses.
	case l.Stops || l.Miss != nil:
		// A default comes after the paths of less specific hosts, but a level that stops comes before
		// them in the order of rules. So the routes of the next levels are repeated here, for this host
		// only.
		for _, next := range l.Next {
			all = append(all, c.routes(next, l.Host)...)
		}
		all = append(all, c.missClaims(answeringLevel(l))...)
	}
	c.byHost[l.Host] = withoutRepeats(all)
	return c.byHost[l.Host]
}

// withoutRepeats returns claims without those for the same requests as an earlier one.
func withoutRepeats(all []claim) []claim {
	type extent struct {
		path routing.Path
		when string
	}
	known := make(map[extent]bool, len(all))
	return slices.DeleteFunc(all, func(cl claim) bool {
		e := extent{cl.path, cl.group.when}
		if cl.decided() {
			e.when = cl.when.Key()
		}
		again := known[e]
		known[e] = true
		return again
	})
}

// answeringLevel returns the level whose default answers requests that match no route of a level
// and of its next levels.
func answeringLevel(l *precedence.Level) *precedence.Level {
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

// claimsBelow returns the claims that a request of this host meets after its own level, by level.
func (c *claims) claimsBelow(h routing.Host) [][]claim {
	var later [][]claim
	if parent := c.parent(h); parent != nil {
		later = append(later, c.completeLevel(parent))
	}
	if h != routing.Any {
		later = append(later, c.byHost[routing.Any])
	}
	return append(later, []claim{c.fallback})
}

// routes returns the reachable routes of a level as claims, for requests for a host.
func (c *claims) routes(l *precedence.Level, h routing.Host) []claim {
	live, _ := l.Reachable()
	out := make([]claim, 0, len(live))
	for _, r := range live {
		when, may := r.When, true
		if len(r.When) > 0 {
			when, may = c.paths.hosts.onHost(r.When, h)
		}
		if may {
			cl := c.claim(r)
			cl.when = when
			out = append(out, cl)
		}
	}
	return out
}

// decided reports whether a condition of the route on the host always holds for its host.
func (cl claim) decided() bool { return len(cl.when) < len(cl.said) }

func (c *claims) claim(r *routing.Route) claim {
	action, path := lb.FromRouting(r.Action.On(c.protocol)), r.Path
	if path.Type == routing.Glob && path.Value != "/" && strings.TrimRight(path.Value, "*") == "/" {
		path = routing.Root // the same paths, and it needs no condition
	}
	return claim{path: path, when: r.When, said: r.When, action: action, origin: r.Source,
		group: c.group(r.Owner.String(), action, r.When), through: r.Through != nil}
}

// answersAll reports whether no request gets past a claim.
func (cl *claim) answersAll() bool { return cl.path == routing.Root && len(cl.when) == 0 }

// group returns the group of an owner's claims with one action.
func (c *claims) group(owner string, a lb.Action, when routing.Conditions) *group {
	g := group{owner, a.Key(), when.Key()}
	if a.Auth != nil {
		g.action += a.Auth.ClientSecret.Digest() // the key of an action does not have the secret
	}
	known := c.groups[g]
	if known == nil {
		known = &g
		c.groups[g] = known
	}
	return known
}

// missClaims returns the claims that answer requests that match no path of a level. The last one
// answers all that the others leave.
func (c *claims) missClaims(l *precedence.Level) []claim {
	if l == nil || l.Miss == nil {
		action := lb.FromRouting(routing.NotFound())
		return []claim{{path: routing.Root, action: action, catchAll: true,
			group: c.group("", action, nil)}}
	}
	last := c.missClaim(l.Miss, routing.Root)
	if l.ChallengeMiss == nil {
		return []claim{last}
	}
	return []claim{c.missClaim(l.ChallengeMiss, routing.ChallengePath), last}
}

func (c *claims) missClaim(d *routing.Default, path routing.Path) claim {
	action := lb.FromRouting(d.Action.On(c.protocol))
	return claim{path: path, action: action, catchAll: true, origin: d.Source,
		group: c.group(d.Owner.String(), action, nil), through: path != routing.Root}
}
