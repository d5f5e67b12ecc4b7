package replay

import (
	"slices"

	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds the routes of a host that may answer a request.

// A class has the hosts of a port that one level of the table decides, with the candidates for
// answers, in order. The last candidate matches all requests.
type class struct {
	answers  []*answer
	when     []routing.Conditions
	exact    map[string][]int32 // candidates by path
	prefix   map[string][]int32
	patterns []pattern // paths of the other candidates
	parts    parts
}

// A pattern is a glob or a regular expression.
type pattern struct {
	candidate int32
	matches   func(path string) bool
}

// An answer is a candidate of a class.
type answer struct {
	compare.Candidate
	port   int32
	host   routing.Host // of the route
	action lb.Action    // on this port
	key    string       // equal for equal actions
}

// classOf returns the class of a host name on a port.
func (t *table) classOf(port int32, name string) *class {
	host := routing.Any
	for _, h := range routing.Levels(name) {
		if t.Level(port, h) != nil {
			host = h
			break
		}
	}
	at := classKey{port, host}
	if t.classes[at] == nil {
		t.classes[at] = t.newClass(port, name)
	}
	return t.classes[at]
}

type classKey struct {
	port int32
	host routing.Host
}

func (t *table) newClass(port int32, name string) *class {
	c := &class{exact: map[string][]int32{}, prefix: map[string][]int32{}}
	candidates, entries := compare.CandidatesOfLevel(t.Table, port, name)
	for i, e := range entries {
		c.answers = append(c.answers, t.answerOf(candidates[i], port))
		c.when = append(c.when, e.When)
		c.parts.add(e.When)
		for _, p := range e.Paths {
			c.index(int32(i), p)
		}
	}
	return c
}

func (c *class) index(candidate int32, p routing.Path) {
	switch p.Type {
	case routing.Exact:
		c.exact[p.Value] = append(c.exact[p.Value], candidate)
	case routing.Prefix:
		c.prefix[p.Value] = append(c.prefix[p.Value], candidate)
	case routing.Regex:
		if re := p.Expression(); re != nil {
			c.patterns = append(c.patterns, pattern{candidate, re.MatchString})
		}
	default:
		c.patterns = append(c.patterns, pattern{candidate, p.Matches})
	}
}

// answerOf returns the answer of a candidate. A candidate has one answer for each port.
func (t *table) answerOf(c compare.Candidate, port int32) *answer {
	key := answerKey{port, c.Route, c.Default}
	if t.answers[key] == nil {
		on := c.Action.On(t.protocol(port))
		host := routing.Any
		if c.Route != nil {
			host = c.Route.Host
		}
		t.answers[key] = &answer{c, port, host, lb.FromRouting(on), on.Key()}
	}
	return t.answers[key]
}

// answerKey identifies a candidate: a route, a default backend, or neither for the 404.
type answerKey struct {
	port    int32
	route   *routing.Route
	backend *routing.Default
}

// A possible is an answer, with the undecided conditions that have to hold for it.
type possible struct {
	*answer
	unknown routing.Conditions
}

// A match is a candidate that may answer a request, with its undecided conditions.
type match struct {
	candidate int32
	unknown   uint32 // a bit for each condition; the last bit is for all further ones
}

// find adds the candidates that may answer a request, in order, up to the first without undecided
// conditions.
func (c *class) find(out []match, a *loggedRequest, path string) []match {
	var few [8]int32
	for _, i := range c.matching(path, few[:0]) {
		unknown, may := a.undecidedBits(c.when[i])
		if !may {
			continue
		}
		out = append(out, match{i, unknown})
		if unknown == 0 {
			break
		}
	}
	return out
}

// possible returns the answers of candidates.
func (c *class) possible(found []match) []possible {
	var out []possible
	for _, m := range found {
		p := possible{answer: c.answers[m.candidate]}
		for i, condition := range c.when[m.candidate] {
			if m.unknown>>min(i, lastBit)&1 == 1 {
				p.unknown = append(p.unknown, condition)
			}
		}
		out = append(out, p)
	}
	return out
}

// matching returns the candidates whose path matches the path of a request, in order.
func (c *class) matching(path string, found []int32) []int32 {
	found = append(found, c.exact[path]...)
	for ancestor := range routing.Ancestors(path) {
		found = append(found, c.prefix[ancestor]...)
	}
	for _, p := range c.patterns {
		if p.matches(path) {
			found = append(found, p.candidate)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// A table is a routing table with cached results.
type table struct {
	*precedence.Table
	classes map[classKey]*class
	answers map[answerKey]*answer
}

func newTable(t *precedence.Table) *table {
	return &table{t, map[classKey]*class{}, map[answerKey]*answer{}}
}

// protocol returns the protocol of a port.
func (t *table) protocol(port int32) routing.Protocol {
	for _, l := range t.Listeners {
		if l.Port == port {
			return l.Protocol
		}
	}
	return ""
}

// portFor returns the port on which a request arrived: that of its URL or, if there is no such
// listener, the only one with the protocol. It is 0 if there is none.
func (t *table) portFor(port int32, protocol routing.Protocol) int32 {
	if t.protocol(port) == protocol {
		return port
	}
	only := int32(0)
	for _, l := range t.Listeners {
		if l.Protocol == protocol {
			if only != 0 {
				return 0
			}
			only = l.Port
		}
	}
	return only
}
