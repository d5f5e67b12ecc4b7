package expect

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
)

// This file finds the candidates for answers at a place that violate the expectation, and their
// requests.

// The answers of the list of candidates.
const (
	right = "as it must be"
	wrong = "not as it must be"
)

func isWrongInSet(answer, set string) bool { return answer == wrong && set == inSet }

// A judgement has the candidates for answers at a place, in order, and which violate the
// expectation.
type judgement struct {
	at         place
	candidates []compare.Candidate
	list       []requests.Entry
	keys       []string          // the group of each wrong candidate; "" for others
	groups     map[string][]part // the exceptions for requests to candidates of a group
}

func (c *checker) judge(at place) judgement {
	out := judgement{at: at, groups: map[string][]part{}}
	out.candidates, out.list = compare.Candidates(at.table, at.listener.Port, at.host)
	out.keys = make([]string, len(out.candidates))
	for i, candidate := range out.candidates {
		a := answerOf(at, candidate)
		if isUnknown(candidate) || !c.concerns(a) || len(c.must.problems(a)) == 0 {
			continue
		}
		key, parts := c.exceptions(a)
		out.keys[i], out.groups[key] = key, parts
	}
	return out
}

// isUnknown reports whether a candidate is a rule of the cloud of which no Ingress is known: it may be as the
// expectation has it.
func isUnknown(c compare.Candidate) bool {
	return c.Owner.Name == "" && c.Action.Key() != routing.NotFound().Key()
}

// judgeFormer returns the judgement of the present answers at the place; nil without any.
func (c *checker) judgeFormer(at place) *judgement {
	if c.former == nil {
		return nil
	}
	same := func(l routing.Listener) bool {
		return l.Port == at.listener.Port && l.Protocol == at.listener.Protocol
	}
	n := slices.IndexFunc(c.former.Listeners, same)
	if n < 0 {
		return nil
	}
	out := c.judge(place{c.former, &c.former.Listeners[n], at.host})
	return &out
}

// equal reports whether two places have the same judgement and the same clients.
func (j judgement) equal(o judgement) bool {
	if !slices.Equal(j.keys, o.keys) || !slices.Equal(j.at.listener.Inbound, o.at.listener.Inbound) ||
		schemeOf(j.at.table) != schemeOf(o.at.table) || names(j.at.table, j.at.host) != names(
		o.at.table, o.at.host) {
		return false
	}
	return slices.EqualFunc(j.list, o.list, func(a, b requests.Entry) bool {
		return slices.Equal(a.Paths, b.Paths) && a.When.Key() == b.When.Key()
	})
}

// answers returns the list of candidates, with those of a group as wrong.
func (j judgement) answers(key string) []requests.Entry {
	out := slices.Clone(j.list)
	for i := range out {
		if out[i].Answer = right; j.keys[i] == key {
			out[i].Answer = wrong
		}
	}
	return out
}

// A searched is a search with what it has found.
type searched struct {
	answers, set []requests.Entry
	pairs        []requests.Pair
	undecided    requests.Undecided
}

// find searches requests with a wrong answer in the set. Many hosts have the same paths, and are
// searched once.
func (c *checker) find(answers, set []requests.Entry) ([]requests.Pair, requests.Undecided) {
	if !sameEntries(answers, c.last.answers) || !sameEntries(set, c.last.set) {
		pairs, undecided := c.finder.Find(answers, set, isWrongInSet)
		c.last = searched{answers, set, pairs, undecided}
	}
	return c.last.pairs, c.last.undecided
}

func sameEntries(some, others []requests.Entry) bool {
	return slices.EqualFunc(some, others, func(a, b requests.Entry) bool {
		return a.Answer == b.Answer && a.Namespace == b.Namespace &&
			slices.Equal(a.Paths, b.Paths) && a.When.Key() == b.When.Key()
	})
}

// search finds requests of the set that candidates of a group answer, and whose present answers do
// not violate the expectation.
func (c *checker) search(next judgement, former *judgement, key string) (
	[]requests.FoundEntry, requests.Undecided,
) {
	answers, set := next.answers(key), entries(c.parts, next.groups[key], next.at)
	if former == nil || len(former.groups) == 0 {
		pairs, undecided := c.find(answers, set)
		var out []requests.FoundEntry
		for _, p := range pairs {
			out = append(out, requests.FoundEntry{First: p.First, Request: p.Request})
		}
		return out, undecided
	}
	lists := [][]requests.Entry{answers, set}
	for _, k := range slices.Sorted(maps.Keys(former.groups)) {
		lists = append(lists, former.answers(k), entries(c.parts, former.groups[k], former.at))
	}
	return c.finder.FindAmong(lists, func(answers []string) bool {
		for i := 0; i < len(answers); i += 2 {
			if isWrongInSet(answers[i], answers[i+1]) != (i == 0) {
				return false
			}
		}
		return true
	})
}
