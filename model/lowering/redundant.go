package lowering

import (
	"slices"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file finds the claims of a level that make no difference: redundant ones, whose requests
// would get the same answer without them, and unreachable ones.

// A claimIndex finds the claims of one level that may overlap a given one: exact paths and prefixes
// at each parent of the path, the others one by one.
type claimIndex struct {
	sets    *pathSets
	all     []claim
	dropped []bool
	ranked  bool // fully in order of precedence: deeper paths come first
	named   map[routing.Path][]int
	globs   []int // and regular expressions
	through []int // in the order of another path
	// redirect is the action of the listener's default if that redirects; else "". Neighbours may be tied together by it:
	// an Ingress that redirects as the default does needs no rule.
	redirect string
}

func newClaimIndex(all []claim, ranked bool, sets *pathSets) *claimIndex {
	x := &claimIndex{sets: sets, all: all, dropped: make([]bool, len(all)), ranked: ranked,
		named: make(map[routing.Path][]int, len(all))}
	for i, cl := range all {
		if cl.through {
			x.through = append(x.through, i)
		}
		if isGlob(cl.path) {
			x.globs = append(x.globs, i)
		} else {
			x.named[cl.path] = append(x.named[cl.path], i)
		}
	}
	return x
}

func isGlob(p routing.Path) bool { return p.Type == routing.Glob || p.Type == routing.Regex }

// redundant reports whether the requests that reach claim i would get the same answer without it.
func (x *claimIndex) redundant(i int, later [][]claim) bool {
	for _, j := range x.candidates(x.all[i].path) {
		if j > i && !x.dropped[j] {
			if same, decided := x.settles(i, &x.all[j]); decided {
				return same
			}
		}
	}
	for _, level := range later {
		for j := range level {
			if same, decided := x.settles(i, &level[j]); decided {
				return same
			}
		}
	}
	return false
}

// settles returns whether next decides the answer that the requests of claim i would get without
// it, and whether that answer is the same. A catch-all belongs to no Ingress, so a claim of any
// Ingress can replace it.
func (x *claimIndex) settles(i int, next *claim) (same, decided bool) {
	cl := &x.all[i]
	if !x.sets.overlap(cl.group.owner, cl.path, next.path) {
		return false, false
	}
	if next.group.action == cl.group.action && (cl.catchAll || next.group.owner == cl.group.owner || cl.group.action == x.redirect) {
		covered := len(next.when) == 0 && x.sets.contains(cl.group.owner, next.path, cl.path)
		return covered, covered
	}
	return false, x.reaches(i, next.path)
}

// candidates returns, in order, the claims that may overlap a path without being below it: those
// that requests of a claim of the level can meet further down.
func (x *claimIndex) candidates(p routing.Path) []int {
	if !x.ranked || isGlob(p) {
		all := make([]int, len(x.all))
		for i := range all {
			all[i] = i
		}
		return all
	}
	var at []int
	for up := range routing.Ancestors(p.Value) {
		at = append(at, x.named[routing.Path{Type: routing.Prefix, Value: up}]...)
	}
	if p.Type == routing.Exact { // those with other conditions
		at = append(at, x.named[p]...)
	}
	at = append(append(at, x.globs...), x.through...)
	slices.Sort(at)
	return slices.Compact(at)
}

// reaches reports whether a request for both claim i and a path passes all claims before i.
func (x *claimIndex) reaches(i int, path routing.Path) bool {
	own, asker := x.all[i].path, x.all[i].group.owner
	both := []routing.Path{own, path}
	switch {
	case x.sets.contains(asker, path, own):
		both = both[:1]
	case x.sets.contains(asker, own, path):
		both = both[1:]
	}
	if len(both) == 1 && !isGlob(both[0]) {
		p := both[0]
		if x.before(i, p) {
			return false
		}
		for up := range routing.Ancestors(p.Value) {
			if x.before(i, routing.Path{Type: routing.Prefix, Value: up}) {
				return false
			}
		}
		if !slices.ContainsFunc(x.globs, func(g int) bool {
			return g < i && x.sets.overlap(asker, x.all[g].path, p)
		}) {
			return true // exact paths and longer prefixes never cover a whole prefix
		}
	}
	var out []routing.Path
	for _, cl := range x.all[:i] {
		if len(cl.when) == 0 && x.sets.overlap(asker, cl.path, both[0]) {
			out = append(out, cl.path)
		}
	}
	if len(out) == 0 {
		return true
	}
	_, verdict := x.sets.Find(asker, both, out)
	return verdict != language.None
}

// before reports whether one of the claims before i has exactly this path, for every request.
func (x *claimIndex) before(i int, p routing.Path) bool {
	return slices.ContainsFunc(x.named[p], func(j int) bool {
		return j < i && len(x.all[j].when) == 0
	})
}
