package routing

import (
	"slices"
	"strings"
)

// This file finds the routes that no request can reach, because routes before them match
// everything that they could.

// Reach splits the routes of a level into those that some request can reach, in their order, and
// the others.
func (l *Level) Reach() (live []*Route, hidden []Hidden) {
	if !l.split {
		l.live, l.hidden = reach(l.comparer, l.Routes)
		l.split = true
	}
	return l.live, l.hidden
}

func reach(c *Comparer, routes []*Route) (live []*Route, hidden []Hidden) {
	claimed := make(map[Path][]*Route, len(routes))
	var globs bool
	for _, r := range routes {
		if winner := claimant(claimed[r.Path], r); winner != nil {
			hidden = append(hidden, Hidden{r, []*Route{winner}})
			continue
		}
		if impossible(r.Path) {
			hidden = append(hidden, Hidden{Route: r})
			continue
		}
		if r.Path.Type == Glob || globs && r.Path.Type != Exact {
			if by := covered(c, r, live); by != nil {
				hidden = append(hidden, Hidden{r, by})
				continue
			}
		}
		globs = globs || r.Path.Type == Glob || r.Path.Type == Regex
		claimed[r.Path] = append(claimed[r.Path], r)
		live = append(live, r)
	}
	return live, hidden
}

// impossible reports whether no request has such a path: the path of a request ends before its
// query and its fragment.
func impossible(p Path) bool {
	switch p.Type {
	case Exact, Prefix:
		return strings.ContainsAny(p.Value, "?#")
	case Glob:
		return strings.Contains(p.Value, "#")
	}
	return false
}

// claimant is the route among those of one path that claims what r claims, or more.
func claimant(those []*Route, r *Route) *Route {
	for _, c := range those {
		if len(c.When) == 0 || identical(c, r) {
			return c
		}
	}
	return nil
}

// covered returns the routes before r that together match every path of r, or nil if a path is
// left. Only a glob or a regular expression can take part in covering a path that is longer
// than all texts, so it is asked only behind one.
func covered(c *Comparer, r *Route, before []*Route) []*Route {
	asker := r.Owner.String()
	var rivals []*Route
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
	if slices.ContainsFunc(samples(c, asker, r.Path), func(path string) bool { return !anyHas(c, asker, rivals, path) }) {
		return nil
	}
	// One that covers it alone explains it best.
	paths := make([]Path, len(rivals))
	for i, b := range rivals {
		paths[i] = b.Path
		if _, verdict := c.Find(asker, []Path{r.Path}, paths[i:i+1]); verdict == None {
			return []*Route{b}
		}
	}
	if _, verdict := c.Find(asker, []Path{r.Path}, paths); verdict == None {
		return rivals
	}
	return nil
}

// anyHas reports whether a route stands for a path.
func anyHas(c *Comparer, asker string, routes []*Route, path string) bool {
	return slices.ContainsFunc(routes, func(b *Route) bool { return c.Has(asker, b.Path, path) == Some })
}

// samples are a few paths that p may match, to find out quickly that it is not covered.
func samples(c *Comparer, asker string, p Path) []string {
	var all []string
	switch p.Type {
	case Exact:
		return []string{p.Value}
	case Prefix:
		below := strings.TrimSuffix(p.Value, "/") + "/"
		all = []string{p.Value, below, below + "~", below + "~/~"}
	case Glob:
		for _, fill := range []string{"", "~", "~/~"} {
			all = append(all, strings.NewReplacer("*", fill, "?", "~").Replace(p.Value))
		}
	}
	return slices.DeleteFunc(all, func(path string) bool { return c.Has(asker, p, path) != Some })
}

// witness is a short path that p matches and none of others, asked for an Ingress.
func witness(c *Comparer, asker string, p Path, others []*Route) (string, bool) {
	for _, path := range samples(c, asker, p) {
		if !strings.Contains(path, "~") && !anyHas(c, asker, others, path) {
			return path, true
		}
	}
	var out []Path
	for _, b := range others {
		if len(b.When) == 0 {
			out = append(out, b.Path)
		}
	}
	path, verdict := c.Find(asker, []Path{p}, out)
	return path, verdict == Some
}
