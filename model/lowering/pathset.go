package lowering

import (
	"cmp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// A pathSets compares paths as sets of request paths. Prefixes and exact paths are compared by
// their text; globs and regular expressions by automata, within the budget of the Ingress asker.
type pathSets struct {
	*language.Comparer
	hosts *narrower
}

// overlap reports whether a request path is in both; true if this cannot be decided.
func (s *pathSets) overlap(asker string, a, b routing.Path) bool {
	switch {
	case a == b:
		return true
	case a.Type == routing.Exact:
		return s.Has(asker, b, a.Value) != language.None
	case b.Type == routing.Exact:
		return s.Has(asker, a, b.Value) != language.None
	case a.Type == routing.Prefix && b.Type == routing.Prefix:
		return a.Matches(b.Value) || b.Matches(a.Value)
	case s.distant(a, b):
		return false
	case a.Type == routing.Prefix:
		some, _, sure := s.Under(asker, b, a)
		return some || !sure
	case b.Type == routing.Prefix:
		some, _, sure := s.Under(asker, a, b)
		return some || !sure
	case comparePaths(a, b) > 0: // the answer is the same, and may be cached
		a, b = b, a
	}
	_, verdict := s.Find(asker, []routing.Path{a, b}, nil)
	return verdict != language.None
}

// anyOverlap reports whether a path of one list overlaps a path of the other. Exact paths and
// prefixes are found in the index of the other list; globs and regular expressions are compared
// with each.
func (s *pathSets) anyOverlap(asker string, a, b *pathIndex) bool {
	if len(a.plain) > len(b.plain) {
		a, b = b, a
	}
	each := func(of []routing.Path, others []routing.Path) bool {
		return slices.ContainsFunc(of, func(p routing.Path) bool {
			return slices.ContainsFunc(others, func(q routing.Path) bool { return s.overlap(asker, p, q) })
		})
	}
	return slices.ContainsFunc(a.plain, b.meets) || each(a.globs, b.plain) || each(a.plain, b.globs) ||
		each(a.globs, b.globs)
}

// A pathIndex finds the exact paths and prefixes of a list that overlap another one.
type pathIndex struct {
	plain, globs []routing.Path // globs has the regular expressions, too
	at           map[routing.Path]bool
	below        map[string]bool // the prefixes that a path is at or below
}

func newPathIndex(paths []routing.Path) *pathIndex {
	x := &pathIndex{at: make(map[routing.Path]bool, len(paths)),
		below: make(map[string]bool, len(paths))}
	for _, p := range paths {
		if isGlob(p) {
			x.globs = append(x.globs, p)
			continue
		}
		x.plain, x.at[p] = append(x.plain, p), true
		for up := range routing.Ancestors(p.Value) {
			x.below[up] = true
		}
	}
	return x
}

// meets reports whether an exact path or a prefix overlaps one of the list.
func (x *pathIndex) meets(p routing.Path) bool {
	if x.at[p] || p.Type == routing.Prefix && x.below[p.Value] {
		return true
	}
	for up := range routing.Ancestors(p.Value) {
		if x.at[routing.Path{Type: routing.Prefix, Value: up}] {
			return true
		}
	}
	return false
}

// contains reports whether outer has every request path of inner; false if this cannot be decided.
func (s *pathSets) contains(asker string, outer, inner routing.Path) bool {
	switch {
	case outer == inner || outer == routing.Root:
		return true
	case inner.Type == routing.Exact:
		return s.Has(asker, outer, inner.Value) == language.Some
	case outer.Type == routing.Exact:
		return false
	case outer.Type == routing.Prefix && inner.Type == routing.Prefix:
		return outer.Matches(inner.Value)
	case s.distant(outer, inner):
		return false
	case inner.Type == routing.Prefix:
		_, all, _ := s.Under(asker, outer, inner)
		return all
	case outer.Type == routing.Prefix && inner.Type == routing.Glob &&
		strings.ContainsAny(inner.Value, "*?"):
		return strings.HasPrefix(inner.Text(), outer.Value+"/") // any character can follow its text
	}
	_, verdict := s.Find(asker, []routing.Path{inner}, []routing.Path{outer})
	return verdict == language.None
}

// distant reports whether the texts before the first wildcards already differ.
func (s *pathSets) distant(a, b routing.Path) bool {
	if a.Type == routing.Regex || b.Type == routing.Regex {
		return false // a top-level alternation has no such text
	}
	x, y := a.Text(), b.Text()
	n := min(len(x), len(y))
	return x[:n] != y[:n]
}

// sortPaths sorts paths in an order that does not depend on their Ingresses.
func sortPaths(paths []routing.Path) { slices.SortFunc(paths, comparePaths) }

func comparePaths(a, b routing.Path) int {
	return cmp.Or(strings.Compare(a.Value, b.Value), cmp.Compare(a.Type, b.Type))
}
