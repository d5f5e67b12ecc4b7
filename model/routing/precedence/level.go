package precedence

import (
	"slices"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file has the levels of a table: one for each host of each port.

// A Level is one host of one port. The first one that matches a request's host decides.
type Level struct {
	Host   routing.Host
	Routes []*routing.Route // by precedence, including losers of identical claims
	Miss   *routing.Default // answers requests that match no route; nil: 404
	// ChallengeMiss is Miss for requests under routing.ChallengePath; nil if Miss answers these, too.
	ChallengeMiss *routing.Default
	// Closed: the host is named, but by no Ingress that is served on this port. It answers 404 with
	// any HostMiss: hosts are never served on ports that their owner did not open.
	Closed bool
	// listers has the Ingresses that list the host in spec.tls; see listed.go. It is nil if rules name
	// the host.
	listers map[string]bool
	// beside: no rule names the host, and no wildcard answers for it here; see listed.go.
	beside bool
	// Next has the levels for requests that match no route here, in order. Stops: such requests reach
	// no other levels below. See misses.go.
	Next  []*Level
	Stops bool

	missPorts []int32 // the ports on which the Ingress of Miss serves the host
	namespace string  // of the first part placed here
	counted   bool    // its routes count as repeated

	inOrder  bool               // Routes are in order, and those of less specific hosts are among them
	comparer *language.Comparer // of its table
	live     []*routing.Route   // the result of Reachable, once computed
	hidden   []Hidden
	split    bool
}

// offer gives a level the default backend of an Ingress, which serves the host on these ports.
func (l *Level) offer(d *routing.Default, ports []int32) {
	before := routing.Older
	if l.inOrder {
		before = routing.Before
	}
	switch {
	case l.Miss == d:
		l.missPorts = append(slices.Clip(l.missPorts), ports...)
	case l.Miss == nil || before(d.Owner, l.Miss.Owner) < 0:
		l.Miss, l.missPorts = d, ports
	}
}

func (l *Level) describe() string {
	switch {
	case l.listers != nil:
		return describeHost(l.Host) + " of spec.tls"
	case l.beside:
		return describeHost(routing.Any)
	}
	return describeHost(l.Host)
}

// setNamespace sets the namespace of a level to that of the first part placed there. If hosts have
// owners, all parts of a level belong to one namespace.
func (l *Level) setNamespace(o routing.Owner) {
	if l.namespace == "" {
		l.namespace = o.Namespace
	}
}

// allRoutes returns the routes of a level and of its next levels.
func (l *Level) allRoutes() []*routing.Route {
	out := l.Routes
	for _, next := range l.Next {
		out = append(slices.Clip(out), next.Routes...)
	}
	return out
}

// hasDefault reports whether a default backend answers requests that match no route.
func (l *Level) hasDefault() bool {
	return l.Miss != nil || slices.ContainsFunc(l.Next, func(next *Level) bool {
		return next.Miss != nil
	})
}

// A Hidden is an unreachable route, with the reason.
type Hidden struct {
	Route *routing.Route
	// By has an identical claim, or the routes that match all its requests; none if no request can
	// have such a path.
	By []*routing.Route
}

// Same reports whether the route lost to an identical claim.
func (h Hidden) Same() bool { return len(h.By) == 1 && identical(h.Route, h.By[0]) }
