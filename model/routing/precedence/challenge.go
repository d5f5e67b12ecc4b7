package precedence

import (
	"slices"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file splits the routes and default backends whose requests over HTTP are redirected to
// HTTPS: into the redirect, and what it lets through. Both have the rank of the route, so no other
// route changes its place.

// splitter returns a function that returns a route as the levels of a protocol have it.
func (t *Table) splitter(r *routing.Route) func(routing.Protocol) []*routing.Route {
	if r.Action.SSLRedirect == nil {
		same := []*routing.Route{r}
		return func(routing.Protocol) []*routing.Route { return same }
	}
	parts := map[routing.Protocol][]*routing.Route{}
	return func(on routing.Protocol) []*routing.Route {
		if parts[on] == nil {
			parts[on] = t.Parts(r, on)
		}
		return parts[on]
	}
}

// Parts returns a route as the levels of a protocol have it: without its SSLRedirect, which over
// HTTP is a route of its own, the last.
func (t *Table) Parts(r *routing.Route, on routing.Protocol) []*routing.Route {
	to := r.Action.SSLRedirect
	asked := *r
	asked.Action.SSLRedirect = nil
	if to == nil || on == routing.HTTPS {
		return []*routing.Route{&asked}
	}
	redirected := *r
	redirected.Action = to.Redirect()
	if to.Challenges {
		return []*routing.Route{&redirected}
	}
	through, rest := t.challenges(r)
	if !rest {
		return []*routing.Route{&asked}
	}
	var out []*routing.Route
	for _, p := range through {
		part := asked
		part.Path, part.Through = p, &r.Path
		out = append(out, &part)
	}
	return append(out, &redirected)
}

// challenges is Path.Challenges, also of a regular expression. One that matches only some of these
// requests, or may do so, lets none through.
func (t *Table) challenges(r *routing.Route) (through []routing.Path, rest bool) {
	through, rest, sure := r.Path.Challenges()
	if sure {
		return through, rest
	}
	asker := r.Owner.String()
	below := routing.Path{Type: routing.Glob, Value: routing.ChallengePath.Value + "/*"}
	all := func(in, of routing.Path) bool {
		_, verdict := t.comparer.Find(asker, []routing.Path{in}, []routing.Path{of})
		return verdict == language.None
	}
	switch {
	case all(r.Path, routing.ChallengePath):
		return nil, false
	case all(routing.ChallengePath, r.Path):
		return []routing.Path{routing.ChallengePath}, true
	case all(below, r.Path):
		return []routing.Path{below}, true
	}
	return nil, true
}

// splitMiss splits the default backend of a level, if its Ingress serves the host on the port that
// it redirects to.
func (l *Level) splitMiss(on routing.Protocol) {
	if l.Miss == nil || l.Miss.Action.SSLRedirect == nil {
		return
	}
	to := l.Miss.Action.SSLRedirect
	asked := *l.Miss
	asked.Action.SSLRedirect = nil
	l.Miss = &asked
	if on == routing.HTTPS || !slices.Contains(l.missPorts, to.Port) {
		return
	}
	redirected := asked
	redirected.Action = to.Redirect()
	l.Miss = &redirected
	if !to.Challenges {
		l.ChallengeMiss = &asked
	}
}
