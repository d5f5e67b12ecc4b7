package requests

import (
	"slices"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file decides which entries that match a path can be the first of their lists by their
// conditions.

// conditions numbers all conditions of a search, by the part of a request that they look at. Parts
// do not depend on each other.
type conditions struct {
	numbers map[string]int
	all     []routing.Condition
	parts   map[part]*facts
	pairs   bool // a condition is on the query without a name
	meter   *meter
}

func newConditions(m *meter) *conditions {
	return &conditions{numbers: map[string]int{}, parts: map[part]*facts{}, meter: m}
}

// number returns the number of a condition of a namespace, which is equal for equal conditions.
func (cs *conditions) number(c routing.Condition, namespace string) int {
	c.Name = lower(c.Name)
	key := routing.Conditions{c}.Key()
	n, known := cs.numbers[key]
	if !known {
		n = len(cs.all)
		cs.numbers[key], cs.all = n, append(cs.all, c)
		p := cs.partOf(c)
		if cs.parts[p] == nil {
			cs.parts[p] = &facts{part: p}
		}
		cs.parts[p].add(n, c, namespace)
	}
	return n
}

// numbered returns the numbers of the conditions of an entry.
func (cs *conditions) numbered(e Entry) []int {
	out := make([]int, len(e.When))
	for i, c := range e.When {
		out[i] = cs.number(c, e.Namespace)
	}
	return out
}

func (cs *conditions) factsOf(condition int) *facts {
	return cs.parts[cs.partOf(cs.all[condition])]
}

func (cs *conditions) partOf(c routing.Condition) part {
	if cs.pairs && c.Field == "query" {
		return part{"query", ""}
	}
	return part{c.Field, c.Name}
}

// register numbers the conditions of lists, before any of their entries are compared.
func (cs *conditions) register(all ...[]Entry) {
	for _, entries := range all {
		for _, e := range entries {
			cs.pairs = cs.pairs || slices.ContainsFunc(e.When, func(c routing.Condition) bool {
				return c.Field == "query" && c.Name == ""
			})
		}
	}
	for _, entries := range all {
		for _, e := range entries {
			cs.numbered(e)
		}
	}
}

// A question is whether a request can fulfil all conditions of a list, and fail at least one of
// each other list.
type question struct {
	*conditions
	not       [][]int
	namespace string   // that pays
	held      []*claim // by part
}

// undecided returns why a question is unsure.
func (q *question) undecided() Undecided {
	if q.meter.over() {
		return q.meter.stopped
	}
	return Undecided{"the values of a condition cannot be searched", q.namespace}
}

// ask decides the question, and keeps the claims on a request.
func (q *question) ask(all []int) language.Verdict {
	for _, c := range all {
		if !q.claimOf(c).hold(c) {
			return language.None
		}
	}
	for _, h := range q.held {
		if !q.meter.spend(q.namespace, len(h.facts.conditions)) || !h.facts.complete(q.meter) {
			return language.Unsure
		}
		if !h.possible() {
			return language.None
		}
	}
	return q.refute(0)
}

// refute finds, for each of the other lists from an index on, a condition that a request can fail.
func (q *question) refute(from int) language.Verdict {
	if from == len(q.not) {
		return language.Some
	}
	verdict := language.None
	for _, c := range q.not[from] {
		if q.claimOf(c).fails[c] {
			return q.refute(from + 1)
		}
	}
	for _, c := range q.not[from] {
		h := q.claimOf(c)
		if h.holds[c] {
			continue
		}
		if !q.meter.spend(q.namespace, 1) || !h.facts.complete(q.meter) {
			return language.Unsure
		}
		undo := h.fail(c)
		if h.possible() {
			if verdict = max(verdict, q.refute(from+1)); verdict != language.None {
				return verdict
			}
		}
		undo()
	}
	return verdict
}

// claimOf returns the claim on the part of a request that a condition looks at.
func (q *question) claimOf(condition int) *claim {
	f := q.factsOf(condition)
	for _, h := range q.held {
		if h.facts == f {
			return h
		}
	}
	h := &claim{facts: f, holds: map[int]bool{}, fails: map[int]bool{}, question: q}
	q.held = append(q.held, h)
	return h
}

// request returns a request that satisfies all claims.
func (q *question) request() routing.Request {
	r := routing.Request{}
	for _, h := range q.held {
		h.write(&r)
	}
	return r
}
