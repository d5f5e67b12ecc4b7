package replay

import "fairlead.dev/fairlead/model/lb"

// This file counts lines.

// A Place is where a line stands: the place of its file in a list, and its number.
type Place struct{ File, Line int }

func (p Place) before(o Place) bool {
	return p.File < o.File || p.File == o.File && p.Line < o.Line
}

// An example is a line that shows something.
type example struct {
	Place
	request  string
	location string // of a redirect
}

// mostExamples is how many examples are kept of each kind: the first ones.
const mostExamples = 3

// examples are in order.
type examples []example

// wants reports whether a line at a place is one of the first.
func (e examples) wants(at Place) bool {
	return len(e) < mostExamples || at.before(e[len(e)-1].Place)
}

func (e *examples) add(one example) {
	if !e.wants(one.Place) {
		return
	}
	i := len(*e)
	for i > 0 && one.before((*e)[i-1].Place) {
		i--
	}
	*e = append((*e)[:i:i], append(examples{one}, (*e)[i:]...)...)
	*e = (*e)[:min(len(*e), mostExamples)]
}

// Errors counts errors: those that clients got, and those of them that targets gave.
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

// A pathCount counts the lines that one Ingress path answered, and those that it may have answered.
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

// A group is lines of which the same is to be said.
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

// mostGroups is the number of groups of each kind that a Replayer keeps. Lines of further ones are
// counted, and not described.
const mostGroups = 10_000

// groups are by what is said of their lines.
type groups struct {
	known map[string]*group
	rest  group // all others
}

// of returns a group. It makes a new one if there is room.
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
