package requests

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file looks for requests that several lists answer in a wanted way.

// A Wanted reports whether a combination of answers, one of each list, is looked for.
type Wanted func(answers []string) bool

// A FoundEntry is an entry of the first list, and a shortest request that it answers and that all lists
// answer as wanted.
type FoundEntry struct {
	First   int
	Request routing.Request
}

// FindAmong returns each entry of the first list that answers a request which all lists answer as
// wanted. Undecided is the reason why there may be more; zero if these are all.
func (f *Finder) FindAmong(all [][]Entry, wanted Wanted) (found []FoundEntry, undecided Undecided) {
	numbers := newLists()
	m := f.meter(all...)
	s := &amongSearch{
		Finder: f, lists: numbers, meter: m, wanted: wanted, tried: map[string]bool{},
		found: map[int32]bool{}, alive: make([][]int32, len(all)), conditions: newConditions(m),
	}
	for _, entries := range all {
		s.each = append(s.each, numbers.add(entries))
	}
	s.run()
	slices.SortFunc(s.out, func(a, b FoundEntry) int { return a.First - b.First })
	return s.out, cmp.Or(m.stopped, s.undecided)
}

// An amongSearch is a search of FindAmong.
type amongSearch struct {
	*Finder
	*lists
	*meter
	each       []*list
	wanted     Wanted
	conditions *conditions

	tried     map[string]bool
	found     map[int32]bool
	out       []FoundEntry
	undecided Undecided

	alive  [][]int32 // by list; reused
	needed []bool    // by pattern, likewise
}

func (s *amongSearch) run() {
	all := make([][]Entry, len(s.each))
	for i, l := range s.each {
		all[i] = l.entries
	}
	s.conditions.register(all...)
	s.needed = make([]bool, len(s.patterns))
	s.walk(s.meter, s.lists, s.narrow, s.visit)
}

// narrow keeps the cells of entries that may be the first to match. It returns false if the
// possible answers are not wanted.
func (s *amongSearch) narrow(cells []cell) ([]cell, bool) {
	for i, l := range s.each {
		s.alive[i] = l.alive(cells, s.alive[i])
	}
	if !s.may(nil) {
		return nil, false
	}
	clear(s.needed)
	for i, l := range s.each {
		for _, e := range s.alive[i] {
			for _, p := range l.paths[e] {
				s.needed[p] = true
			}
		}
	}
	return s.keepNeeded(cells, s.needed, &s.undecided), true
}

// may reports whether the remaining entries can answer as wanted, together with the given answers
// of the first lists.
func (s *amongSearch) may(given []string) bool {
	at := len(given)
	if at == len(s.each) {
		return s.wanted(given)
	}
	tried := map[string]bool{}
	for _, e := range s.alive[at] {
		answer := s.each[at].entries[e].Answer
		if tried[answer] {
			continue
		}
		tried[answer] = true
		if s.may(append(given, answer)) {
			return true
		}
	}
	return false
}

// visit finds the entries that can answer requests with a path.
func (s *amongSearch) visit(text string, accepting []int32) {
	matched := make([][]int32, len(s.each))
	key := ""
	for i, l := range s.each {
		if matched[i] = l.matched(accepting); len(matched[i]) == 0 {
			return // the last entry of a list matches all requests
		}
		key += keyOf(matched[i], nil)
	}
	if s.tried[key] {
		return
	}
	s.tried[key] = true
	numbered := make([][][]int, len(s.each))
	for i, l := range s.each {
		for _, e := range matched[i] {
			numbered[i] = append(numbered[i], s.conditions.numbered(l.entries[e]))
		}
	}
	for at, e := range matched[0] {
		c := choice{s: s, first: e, text: text, matched: matched, numbered: numbered}
		c.take(0, at)
		if !s.found[e] && c.search() {
			s.found[e] = true
		}
	}
}

// A choice has a matching entry for each of the first lists.
type choice struct {
	s        *amongSearch
	first    int32 // the entry of the first list
	text     string
	matched  [][]int32
	numbered [][][]int // the conditions of each

	answers []string
	all     []int   // conditions that hold
	not     [][]int // of each, at least one condition does not hold
}

// take adds an entry of a list.
func (c *choice) take(list, at int) {
	c.answers = append(slices.Clone(c.answers), c.s.each[list].entries[c.matched[list][at]].Answer)
	c.all = slices.Concat(c.all, c.numbered[list][at])
	c.not = slices.Concat(c.not, c.numbered[list][:at])
}

// search tries the entries of the other lists. It reports whether it finds a request.
func (c choice) search() bool {
	list := len(c.answers)
	if list == len(c.s.each) && !c.s.wanted(c.answers) {
		return false
	}
	q := question{conditions: c.s.conditions, not: c.not,
		namespace: c.s.each[0].entries[c.first].Namespace}
	switch verdict := q.ask(c.all); {
	case verdict == language.None:
		return false
	case verdict == language.Unsure:
		c.s.undecided = q.undecided()
		return false
	case list == len(c.s.each):
		r := q.request()
		r.Path = c.text
		c.s.out = append(c.s.out, FoundEntry{int(c.first), r})
		return true
	}
	for at := range c.matched[list] {
		next := c
		next.take(list, at)
		if next.search() {
			return true
		}
	}
	return false
}
