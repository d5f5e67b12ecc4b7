package replay

import "fairlead.dev/fairlead/model/lb"

// This file counts lines.

// A Place is the place of a line: the index of its file, and its number.
type Place struct{ File, Line int }

func (p Place) before(o Place) bool {
	return p.File < o.File || p.File == o.File && p.Line < o.Line
}

// An example is a line for a report.
type example struct {
	Place
	request  string
	location string // of a redirect
}

// mostExamples is the most examples of each kind. The first ones are kept.
const mostExamples = 3

// examples are in order.
type examples []example

// hasRoomFor reports whether a line at a place is among the first.
func (e examples) hasRoomFor(at Place) bool {
	return len(e) < mostExamples || at.before(e[len(e)-1].Place)
}

func (e *examples) add(one example) {
	if !e.hasRoomFor(one.Place) {
		return
	}
	i := len(*e)
	for i > 0 && one.before((*e)[i-1].Place) {
		i--
	}
	*e = append((*e)[:i:i], append(examples{one}, (*e)[i:]...)...)
	*e = (*e)[:min(len(*e), mostExamples)]
}

// Errors counts the errors that clients got, and those of them from targets.
type Errors struct {
	Client4xx int64 `json:"client4xx"`
	Client5xx int64 `json:"client5xx"`
	Target4xx int64 `json:"target4xx"`
	Target5xx int64 `json:"target5xx"`
}

func (e *Errors) count(status, target int) {
	switch status / 100 {
	case 4:
		e.Client4xx++
	case 5:
		e.Client5xx++
	}
	switch target / 100 {
	case 4:
		e.Target4xx++
	case 5:
		e.Target5xx++
	}
}

func (e *Errors) add(o Errors) {
	e.Client4xx += o.Client4xx
	e.Client5xx += o.Client5xx
	e.Target4xx += o.Target4xx
	e.Target5xx += o.Target5xx
}

// A pathCount counts the lines that an Ingress path answered, and those that it may have answered.
type pathCount struct {
	key      lb.Key
	answer   *answer
	requests int64
	possible int64
	errors   Errors
}

// pathKey is equal for the same path, also of several Replayers.
type pathKey struct {
	key lb.Key
	answerKey
}

func keyOfAnswer(key lb.Key, a *answer) pathKey {
	return pathKey{key, answerKey{a.port, a.Route, a.Default}}
}

// A group has lines with the same result.
type group struct {
	key      lb.Key
	port     int32
	lines    int64
	examples examples

	// of lines that disagree
	wrong    string
	said     logged
	expected []int

	// of lines whose answers a change alters, or may alter
	effect effect
	after  []possible

	before []possible // the answers that the lines may have got
}

// mostGroups is the most groups of each kind of a Replayer. Lines of further groups are only
// counted.
const mostGroups = 10_000

// groups has groups by name.
type groups struct {
	known map[string]*group
	rest  group // all others
}

// of returns a group by name. It makes a new one if there is room.
func (g *groups) of(name string, begin func() *group) *group {
	if found := g.known[name]; found != nil {
		return found
	}
	if len(g.known) >= mostGroups {
		return &g.rest
	}
	made := begin()
	g.known[name] = made
	return made
}

func (g *groups) merge(o *groups) {
	for name, other := range o.known {
		mine := g.known[name]
		if mine == nil {
			g.known[name] = other
			continue
		}
		mine.lines += other.lines
		for _, e := range other.examples {
			mine.examples.add(e)
		}
	}
	g.rest.lines += o.rest.lines
}
