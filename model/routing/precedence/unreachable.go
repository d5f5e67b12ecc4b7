package precedence

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file finds the routes that no request can reach, because routes before them match all their
// requests.

// Reachable returns the reachable routes of a level, in their order, and the others.
func (l *Level) Reachable() (live []*routing.Route, hidden []Hidden) {
	if !l.split {
		l.live, l.hidden = reach(l.comparer, l.Routes, l.inOrder)
		l.split = true
	}
	return l.live, l.hidden
}

// reach returns the reachable routes of a list. By specificity, only globs and regular expressions can
// match all paths of a later route with another path.
func reach(c *language.Comparer, routes []*routing.Route, inOrder bool) (live []*routing.Route,
	hidden []Hidden) {
	claimed := make(map[routing.Path][]*routing.Route, len(routes))
	var globs bool
	for _, r := range routes {
		if winner := earlierClaim(claimed[r.Path], r); winner != nil {
			hidden = append(hidden, Hidden{r, []*routing.Route{winner}})
			continue
		}
		if winner := claimAbove(claimed, r); winner != nil {
			hidden = append(hidden, Hidden{r, []*routing.Route{winner}})
			continue
		}
		if impossible(r.Path) {
			hidden = append(hidden, Hidden{Route: r})
			continue
		}
		if inOrder || r.Path.Type == routing.Glob ||
			globs && (r.Path.Type != routing.Exact || r.Through != nil) {
			if by := coveringRoutes(c, r, live); by != nil {
				hidden = append(hidden, Hidden{r, by})
				continue
			}
		}
		globs = globs || r.Path.Type == routing.Glob || r.Path.Type == routing.Regex
		claimed[r.Path] = append(claimed[r.Path], r)
		live = append(live, r)
	}
	return live, hidden
}

// impossible reports whether no request has such a path: the path of a request ends before its
// query and its fragment.
func impossible(p routing.Path) bool {
	switch p.Type {
	case routing.Exact, routing.Prefix:
		return strings.ContainsAny(p.Value, "?#")
	case routing.Glob:
		return strings.Contains(p.Value, "#")
	}
	return false
}

// earlierClaim returns the route of the same path that claims all requests of r, or nil.
func earlierClaim(those []*routing.Route, r *routing.Route) *routing.Route {
	for _, c := range those {
		if len(c.When) == 0 || identical(c, r) {
			return c
		}
	}
	return nil
}

// claimAbove returns a prefix before a route that a redirect lets through, which ranks lower than its
// path, if it claims all requests of the route; or nil.
func claimAbove(claimed map[routing.Path][]*routing.Route, r *routing.Route) *routing.Route {
	if r.Through == nil {
		return nil
	}
	for up := range routing.Ancestors(routing.ChallengePath.Value) {
		if c := earlierClaim(claimed[routing.Path{Type: routing.Prefix, Value: up}], r); c != nil {
			return c
		}
	}
	return nil
}

// coveringRoutes returns the routes before r that together match every path of r, or nil if a path
// is left. Only globs and regular expressions match paths that are longer than all texts, so
// without one before r there is no search.
func coveringRoutes(c *language.Comparer, r *routing.Route,
	before []*routing.Route) []*routing.Route {
	asker := r.Owner.String()
	var rivals []*routing.Route
	text := c.Text(r.Path)
	for _, b := range before {
		if len(b.When) > 0 {
			continue
		}
		other := c.Text(b.Path)
		if strings.HasPrefix(other, text) || strings.HasPrefix(text, other) {
			rivals = append(rivals, b)
		}
	}
	if len(rivals) == 0 {
		return nil
	}
	if slices.ContainsFunc(samples(c, asker, r.Path), func(path string) bool {
		return !anyHas(c, asker, rivals, path)
	}) {
		return nil
	}
	// A single route that covers it is the best explanation.
	paths := make([]routing.Path, len(rivals))
	for i, b := range rivals {
		paths[i] = b.Path
		if _, verdict := c.Find(asker, []routing.Path{r.Path}, paths[i:i+1]); verdict == language.None {
			return []*routing.Route{b}
		}
	}
	if _, verdict := c.Find(asker, []routing.Path{r.Path}, paths); verdict == language.None {
		return rivals
	}
	return nil
}

// anyHas reports whether a route matches a path.
func anyHas(c *language.Comparer, asker string, routes []*routing.Route, path string) bool {
	return slices.ContainsFunc(routes, func(b *routing.Route) bool {
		return c.Has(asker, b.Path, path) == language.Some
	})
}

// samples returns a few paths that p may match, to find quickly that it is not covered.
func samples(c *language.Comparer, asker string, p routing.Path) []string {
	var all []string
	switch p.Type {
	case routing.Exact:
		return []string{p.Value}
	case routing.Prefix:
		below := strings.TrimSuffix(p.Value, "/") + "/"
		all = []string{p.Value, below, below + "~", below + "~/~"}
	case routing.Glob:
		for _, fill := range []string{"", "~", "~/~"} {
			all = append(all, strings.NewReplacer("*", fill, "?", "~").Replace(p.Value))
		}
	}
	return slices.DeleteFunc(all, func(path string) bool {
		return c.Has(asker, p, path) != language.Some
	})
}
