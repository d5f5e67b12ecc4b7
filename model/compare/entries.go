package compare

import (
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file makes a list of entries from the routes and defaults of a host.

// A Candidate is a route or a default backend as an entry of a list, or the 404 after them.
type Candidate struct {
	Action  routing.Action // for any port
	Owner   routing.Owner  // zero for the 404
	Route   *routing.Route // nil for a default backend and for the 404
	Default *routing.Default
}

// Candidates returns the candidates for requests for a host name on a port, in order, also as
// entries with equal answers for equal actions. Their conditions on the host are decided.
func Candidates(t *precedence.Table, port int32, name string) ([]Candidate, []requests.Entry) {
	return candidates(t, port, name, func(when routing.Conditions) (routing.Conditions, bool) {
		return when.OnHost(routing.Host(name))
	})
}

// CandidatesOfLevel is like Candidates for all names that the same level decides.
func CandidatesOfLevel(t *precedence.Table, port int32, name string) ([]Candidate, []requests.Entry) {
	return candidates(t, port, name, func(when routing.Conditions) (routing.Conditions, bool) {
		return when, true
	})
}

func candidates(t *precedence.Table, port int32, name string,
	left func(routing.Conditions) (routing.Conditions, bool)) ([]Candidate, []requests.Entry) {
	l := collector{protocol: protocolOn(t, port)}
	var chain []*precedence.Level
	for _, h := range routing.Levels(name) {
		if t == nil {
			break
		}
		if level := t.Level(port, h); level != nil {
			chain = append(chain, level)
		}
	}
	if len(chain) == 0 || chain[0].Closed {
		l.last(Candidate{Action: routing.NotFound()})
		return l.candidates, l.entries
	}
	reach := append([]*precedence.Level{chain[0]}, chain[0].Next...)
	for _, level := range reach {
		for _, r := range level.Routes {
			if when, may := left(r.When); may {
				c := Candidate{Action: r.Action, Owner: r.Owner, Route: r}
				l.add(c, []routing.Path{r.Path}, when)
			}
		}
	}
	for _, level := range reach {
		if d := level.Miss; d != nil {
			if through := level.ChallengeMiss; through != nil {
				l.add(Candidate{Action: through.Action, Owner: through.Owner, Default: through},
					[]routing.Path{routing.ChallengePath}, nil)
			}
			l.last(Candidate{Action: d.Action, Owner: d.Owner, Default: d})
			return l.candidates, l.entries
		}
	}
	l.last(Candidate{Action: routing.NotFound()})
	return l.candidates, l.entries
}

// A collector builds a list of entries.
type collector struct {
	protocol   routing.Protocol
	candidates []Candidate
	entries    []requests.Entry
}

func (l *collector) add(c Candidate, paths []routing.Path, when routing.Conditions) {
	l.candidates = append(l.candidates, c)
	answer := c.Action.On(l.protocol).Key()
	l.entries = append(l.entries,
		requests.Entry{Paths: paths, When: when, Answer: answer, Namespace: c.Owner.Namespace})
}

func (l *collector) last(c Candidate) { l.add(c, requests.Anything, nil) }

// protocolOn returns the protocol of a port; HTTP without a listener.
func protocolOn(t *precedence.Table, port int32) routing.Protocol {
	if l := listenerOn(t, port); l != nil {
		return l.Protocol
	}
	return routing.HTTP
}

// listenerOn returns the listener on a port, or nil.
func listenerOn(t *precedence.Table, port int32) *routing.Listener {
	if t == nil {
		return nil
	}
	for i := range t.Listeners {
		if t.Listeners[i].Port == port {
			return &t.Listeners[i]
		}
	}
	return nil
}
