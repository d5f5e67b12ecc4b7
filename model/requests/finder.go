package requests

import (
	"cmp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file searches requests that two lists answer differently.

// A Finder does the searches of one judgement, within its budget. It keeps the automata of paths
// from one search to the next.
type Finder struct {
	budget    Budget
	shares    map[string]int // the steps that are left, by namespace
	languages map[routing.Path]*language.Language
}

// NewFinder returns a Finder for one judgement.
func NewFinder(b Budget) *Finder {
	return &Finder{budget: b, shares: map[string]int{},
		languages: map[routing.Path]*language.Language{}}
}

// A Pair has an entry of each list, and a shortest request that both answer. The request has a
// path, and the values that conditions require.
type Pair struct {
	First, Second int
	Request       routing.Request
}

// A Differ reports whether two answers, of the first and of the second list, differ. Equal ones do
// not.
type Differ func(first, second string) bool

// Unequal reports whether two answers differ at all, as the Differ of a comparison.
func Unequal(first, second string) bool { return first != second }

// Find returns each pair of entries that differ and answer a common request. Undecided is the
// reason why there may be more; zero if these are all.
func (f *Finder) Find(first, second []Entry, differ Differ) (pairs []Pair, undecided Undecided) {
	numbers := newLists()
	m := f.meter(first, second)
	s := &search{
		Finder: f, first: numbers.add(first), second: numbers.add(second), differ: differ,
		lists: numbers, meter: m, tried: map[string]bool{}, found: map[[2]int32]bool{},
		conditions: newConditions(m),
	}
	s.run()
	slices.SortStableFunc(s.pairs, func(a, b Pair) int {
		if a.First != b.First {
			return a.First - b.First
		}
		return a.Second - b.Second
	})
	return s.pairs, cmp.Or(m.stopped, s.undecided)
}

// meter returns the meter of a search in lists.
func (f *Finder) meter(lists ...[]Entry) *meter {
	m := &meter{finder: f}
	for _, l := range lists {
		for _, e := range l {
			m.free += freeSteps * lengthOf(e.Paths, e.When)
		}
	}
	return m
}

// automaton returns the automaton of a path of a namespace.
func (f *Finder) automaton(m *meter, p routing.Path, namespace string) *language.Language {
	l := f.languages[p]
	if l == nil {
		l = language.OfPath(p)
		f.languages[p] = l
		m.spend(namespace, l.Steps)
	}
	return l
}

// A search compares two lists.
type search struct {
	*Finder
	*lists
	*meter
	first, second *list
	differ        Differ
	conditions    *conditions

	tried     map[string]bool
	found     map[[2]int32]bool
	pairs     []Pair
	undecided Undecided

	ofFirst, ofSecond []int32 // reused
	needed            []bool  // by pattern, likewise
}

// pathCharacters has the characters of request paths, as in language.PathUniverse.
var pathCharacters = func() *alphabet {
	var a alphabet
	for c := language.FirstChar; c <= language.LastChar; c++ {
		a[c] = c != '#' && c != '?'
	}
	return &a
}()

func (s *search) run() {
	whole := make([]cell, len(s.patterns))
	for i := range whole {
		whole[i].pattern = int32(i)
	}
	s.needed = make([]bool, len(s.patterns))
	if _, matters := s.narrow(whole); !matters {
		return
	}
	s.conditions.register(s.first.entries, s.second.entries)
	s.walk(s.meter, s.lists, s.narrow, s.visit)
}

// walk steps the automata of the patterns of lists over all request paths.
func (f *Finder) walk(
	m *meter, ls *lists, narrow func([]cell) ([]cell, bool), visit func(string, []int32),
) {
	w := &walk{allowed: pathCharacters, narrow: narrow, visit: visit, meter: m}
	w.matches = func(pattern int32, text string) bool { return ls.patterns[pattern].Matches(text) }
	for i, p := range ls.patterns {
		w.languages = append(w.languages, f.automaton(m, p, ls.namespaces[i]))
		w.payers.add(ls.namespaces[i], w.languages[i])
		text := ""
		if p.Type == routing.Exact || p.Type == routing.Prefix {
			text = p.Value
		}
		w.literals = append(w.literals, text)
	}
	if !m.over() {
		w.run("/")
	}
}

// narrow keeps the cells of entries that may be the first to match. It returns false if the
// remaining entries of both lists are equal or do not differ.
func (s *search) narrow(cells []cell) ([]cell, bool) {
	s.ofFirst = s.first.alive(cells, s.ofFirst)
	s.ofSecond = s.second.alive(cells, s.ofSecond)
	if s.first.same(s.ofFirst, s.second, s.ofSecond) || !s.mayDiffer() {
		return nil, false
	}
	clear(s.needed)
	s.need(s.first, s.ofFirst)
	s.need(s.second, s.ofSecond)
	return s.keepNeeded(cells, s.needed, &s.undecided), true
}

// keepNeeded keeps the cells of needed patterns, in place. Undecided has a needed pattern without
// an automaton, if any.
func (ls *lists) keepNeeded(cells []cell, needed []bool, undecided *Undecided) []cell {
	out := cells[:0]
	for _, c := range cells {
		if !needed[c.pattern] {
			continue
		}
		if c.state == unknown {
			*undecided = Undecided{noMachine + ls.patterns[c.pattern].String(),
				ls.namespaces[c.pattern]}
		}
		out = append(out, c)
	}
	return out
}

func (s *search) need(l *list, entries []int32) {
	for _, e := range entries {
		for _, p := range l.paths[e] {
			s.needed[p] = true
		}
	}
}

// mayDiffer reports whether a remaining entry of the first list differs from one of the second;
// true if there are many answers.
func (s *search) mayDiffer() bool {
	const few = 8
	one, other := distinct(s.first, s.ofFirst, few), distinct(s.second, s.ofSecond, few)
	if one == nil || other == nil {
		return true
	}
	for _, a := range one {
		for _, b := range other {
			if s.differ(a, b) {
				return true
			}
		}
	}
	return false
}

// distinct returns the answers of entries; nil if there are more than a few.
func distinct(l *list, entries []int32, few int) []string {
	out := make([]string, 0, few)
	for _, e := range entries {
		answer := l.entries[e].Answer
		switch {
		case slices.Contains(out, answer):
		case len(out) == few:
			return nil
		default:
			out = append(out, answer)
		}
	}
	return out
}

// visit compares the entries that a text matches.
func (s *search) visit(text string, accepting []int32) {
	first, second := s.first.matched(accepting), s.second.matched(accepting)
	key := keyOf(first, second)
	if s.tried[key] {
		return
	}
	s.tried[key] = true
	if len(first) == 0 || len(second) == 0 {
		return // the last entry of a list matches all requests
	}
	if len(first) == 1 && len(second) == 1 {
		s.report(first[0], second[0], text, routing.Request{})
		return
	}
	s.compare(first, second, text)
}

// report adds a pair, once.
func (s *search) report(first, second int32, text string, with routing.Request) {
	pair := [2]int32{first, second}
	if s.found[pair] || !s.differ(s.first.entries[first].Answer, s.second.entries[second].Answer) {
		return
	}
	s.found[pair] = true
	with.Path = text
	s.pairs = append(s.pairs, Pair{int(first), int(second), with})
}

// compare reports the pairs of entries that conditions can make the first of both lists.
func (s *search) compare(first, second []int32, text string) {
	ones, others := s.numbered(s.first, first), s.numbered(s.second, second)
	capOfFirst := s.caps(s.first, first, s.second, second)
	capOfSecond := s.caps(s.second, second, s.first, first)
	for i, a := range first {
		for j, b := range second {
			if j > capOfFirst[i] || i > capOfSecond[j] || s.found[[2]int32{a, b}] ||
				!s.differ(s.first.entries[a].Answer, s.second.entries[b].Answer) {
				continue
			}
			q := question{conditions: s.conditions, not: slices.Concat(ones[:i], others[:j]),
				namespace: cmp.Or(s.first.entries[a].Namespace, s.second.entries[b].Namespace)}
			switch q.ask(slices.Concat(ones[i], others[j])) {
			case language.Some:
				s.report(a, b, text, q.request())
			case language.Unsure:
				s.undecided = q.undecided()
			}
		}
	}
}

func (s *search) numbered(l *list, entries []int32) [][]int {
	out := make([][]int, len(entries))
	for i, e := range entries {
		out[i] = s.conditions.numbered(l.entries[e])
	}
	return out
}

// caps returns, for each entry, the first of the other list with the same conditions: no later one
// answers the same requests.
func (s *search) caps(l *list, entries []int32, other *list, others []int32) []int {
	at := map[string]int{}
	for i, e := range slices.Backward(others) {
		at[other.when[e]] = i
	}
	out := make([]int, len(entries))
	for i, e := range entries {
		place, known := at[l.when[e]]
		if out[i] = place; !known {
			out[i] = len(others)
		}
	}
	return out
}

// Sample returns a request that matches a path of an entry and its conditions. It reports whether
// it knows one.
func (f *Finder) Sample(e Entry) (routing.Request, bool) {
	cs := newConditions(&meter{finder: f, free: freeSteps * lengthOf(e.Paths, e.When)})
	cs.register([]Entry{e})
	q := question{conditions: cs, namespace: e.Namespace}
	if q.ask(cs.numbered(e)) != language.Some {
		return routing.Request{}, false
	}
	r := q.request()
	r.Path = e.Paths[0].Value
	if e.Paths[0].Type == routing.Glob {
		r.Path = strings.NewReplacer("*", "", "?", "x").Replace(r.Path)
	}
	return r, e.Paths[0].Matches(r.Path)
}
