package lb

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// pathSets compares paths as sets of request paths. Prefixes and exact paths are compared by
// their text; globs and regular expressions by automata, whose answers are kept.
type pathSets struct {
	answers map[question]bool
}

func newPathSets() *pathSets { return &pathSets{answers: map[question]bool{}} }

// A question is about two paths.
type question struct {
	what string
	a, b routing.Path
}

// overlap reports whether some request path is in both. It says true when it cannot tell.
func (s *pathSets) overlap(a, b routing.Path) bool {
	switch {
	case a == b:
		return true
	case a.Type == routing.Exact:
		return b.Matches(a.Value)
	case b.Type == routing.Exact:
		return a.Matches(b.Value)
	case a.Type == routing.Prefix && b.Type == routing.Prefix:
		return a.Matches(b.Value) || b.Matches(a.Value)
	}
	return s.ask("overlap", a, b, func() bool {
		_, verdict := routing.Find([]string{a.Pattern(), b.Pattern(), routing.PathUniverse}, nil)
		return verdict != routing.None
	})
}

// anyOverlap reports whether a path of one list overlaps a path of the other.
func (s *pathSets) anyOverlap(a, b []routing.Path) bool {
	return slices.ContainsFunc(a, func(p routing.Path) bool {
		return slices.ContainsFunc(b, func(q routing.Path) bool { return s.overlap(p, q) })
	})
}

// contains reports whether outer has every request path of inner. It says false when it cannot
// tell.
func (s *pathSets) contains(outer, inner routing.Path) bool {
	switch {
	case outer == inner || outer == routing.Root:
		return true
	case inner.Type == routing.Exact:
		return outer.Matches(inner.Value)
	case outer.Type == routing.Exact:
		return false
	case outer.Type == routing.Prefix && inner.Type == routing.Prefix:
		return outer.Matches(inner.Value)
	}
	return s.ask("contains", outer, inner, func() bool {
		_, verdict := routing.Find([]string{inner.Pattern(), routing.PathUniverse}, []string{outer.Pattern()})
		return verdict == routing.None
	})
}

func (s *pathSets) ask(what string, a, b routing.Path, answer func() bool) bool {
	key := question{what, a, b}
	if known, ok := s.answers[key]; ok {
		return known
	}
	s.answers[key] = !far(a, b) && answer()
	return s.answers[key]
}

// far reports whether the texts before the first wildcards already keep two paths apart.
func far(a, b routing.Path) bool {
	if a.Type == routing.Regex || b.Type == routing.Regex {
		return false // an alternation at the top has no such text
	}
	x, y := a.Text(), b.Text()
	n := min(len(x), len(y))
	return x[:n] != y[:n]
}

// sortPaths puts paths in an order of their own, whatever asked for them.
func sortPaths(paths []routing.Path) {
	slices.SortFunc(paths, func(a, b routing.Path) int {
		if c := strings.Compare(a.Value, b.Value); c != 0 {
			return c
		}
		return int(a.Type) - int(b.Type)
	})
}
