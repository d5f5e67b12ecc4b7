package routing

import (
	"slices"
	"strings"
)

// This file finds the routes that no request can reach, because routes before them match
// everything that they could.

// Hidden says by what a route is hidden.
type Hidden struct {
	Route *Route
	By    []*Route // an identical claim, or routes that leave nothing; none if no request could have such a path
}

// Same reports whether the route lost to an identical claim.
func (h Hidden) Same() bool { return len(h.By) == 1 && identical(h.Route, h.By[0]) }

// Reach splits the routes of a level into those that some request can reach, in their order, and
// the others.
func (l *Level) Reach() (live []*Route, hidden []Hidden) {
	claimed := make(map[Path][]*Route, len(l.Routes))
	var globs bool
	for _, r := range l.Routes {
		if winner := claimant(claimed[r.Path], r); winner != nil {
			hidden = append(hidden, Hidden{r, []*Route{winner}})
			continue
		}
		if r.Path.impossible() {
			hidden = append(hidden, Hidden{Route: r})
			continue
		}
		if r.Path.Type == Glob || globs && r.Path.Type != Exact {
			if by := covered(r, live); by != nil {
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
func (p Path) impossible() bool {
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
func covered(r *Route, before []*Route) []*Route {
	var rivals []*Route
	text := r.Path.Text()
	for _, b := range before {
		if len(b.When) > 0 {
			continue
		}
		other := b.Path.Text()
		if strings.HasPrefix(other, text) || strings.HasPrefix(text, other) {
			rivals = append(rivals, b)
		}
	}
	if slices.ContainsFunc(r.Path.samples(), func(path string) bool {
		return !slices.ContainsFunc(rivals, func(b *Route) bool { return b.Path.Matches(path) })
	}) {
		return nil
	}
	// One that covers it alone explains it best.
	for _, b := range rivals {
		if _, verdict := Find([]string{r.Path.Pattern(), PathUniverse}, []string{b.Path.Pattern()}); verdict == None {
			return []*Route{b}
		}
	}
	patterns := make([]string, len(rivals))
	for i, b := range rivals {
		patterns[i] = b.Path.Pattern()
	}
	if len(rivals) == 0 {
		return nil
	}
	if _, verdict := Find([]string{r.Path.Pattern(), PathUniverse}, []string{strings.Join(patterns, "|")}); verdict == None {
		return rivals
	}
	return nil
}

// samples are a few paths that p may match, to find out quickly that it is not covered.
func (p Path) samples() []string {
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
	return slices.DeleteFunc(all, func(path string) bool { return !p.Matches(path) })
}

// Witness is a short path that p matches and none of others.
func (p Path) Witness(others []*Route) (string, bool) {
	for _, path := range p.samples() {
		if !strings.Contains(path, "~") && !slices.ContainsFunc(others, func(b *Route) bool { return b.Path.Matches(path) }) {
			return path, true
		}
	}
	var out []string
	for _, b := range others {
		if len(b.When) == 0 {
			out = append(out, b.Path.Pattern())
		}
	}
	not := []string{}
	if len(out) > 0 {
		not = append(not, strings.Join(out, "|"))
	}
	path, verdict := Find([]string{p.Pattern(), PathUniverse}, not)
	return path, verdict == Some
}
