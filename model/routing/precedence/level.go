package precedence

import (
	"slices"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file is one host of one port.

// A Level is one host of one port: the first one that stands for a request's host decides.
type Level struct {
	Host   routing.Host
	Routes []*routing.Route // by precedence, the losers of identical claims included
	Miss   *routing.Default // answers what no route matches; nil: 404
	// Closed says that the host is named, but by no Ingress that is served on this port. It
	// answers 404, whatever HostMiss says: a host never speaks through a port that its owner
	// did not open.
	Closed bool
	// listers are the Ingresses that list the host in spec.tls, where no rule decides for it; see
	// listed.go. It is nil where rules name the host.
	listers map[string]bool
	// beside says that no rule names the host and that no wildcard answers for it here; see listed.go.
	beside bool
	// Next are the levels that a request goes on to which no route here matches, in order; Stops says
	// that it meets no others below. See misses.go.
	Next  []*Level
	Stops bool

	namespace string // of what was placed here first
	counted   bool   // among the routes that are repeated

	comparer *language.Comparer // that of its table
	live     []*routing.Route   // what Reach says, once it was asked
	hidden   []Hidden
	split    bool
}

func (l *Level) offer(d *routing.Default) {
	if l.Miss == nil || routing.Older(d.Owner, l.Miss.Owner) < 0 {
		l.Miss = d
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

// belongs notes the namespace of a level by the first thing that is placed there. Where hosts have
// owners, all that is placed on a level belongs to one.
func (l *Level) belongs(o routing.Owner) {
	if l.namespace == "" {
		l.namespace = o.Namespace
	}
}

// answered are the routes of a level and of those that its misses go on to.
func (l *Level) answered() []*routing.Route {
	out := l.Routes
	for _, next := range l.Next {
		out = append(slices.Clip(out), next.Routes...)
	}
	return out
}

// hasDefault reports whether a default backend answers what no route matches.
func (l *Level) hasDefault() bool {
	return l.Miss != nil || slices.ContainsFunc(l.Next, func(next *Level) bool {
		return next.Miss != nil
	})
}

// Hidden says by what a route is hidden.
type Hidden struct {
	Route *routing.Route
	// an identical claim, or routes that leave nothing; none if no request could have such a path
	By []*routing.Route
}

// Same reports whether the route lost to an identical claim.
func (h Hidden) Same() bool { return len(h.By) == 1 && identical(h.Route, h.By[0]) }
