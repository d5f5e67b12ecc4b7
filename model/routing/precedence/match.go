package precedence

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file is the specification as code: it answers requests.

// An Outcome is the answer to a request, with the reason.
type Outcome struct {
	Action routing.Action
	// of the route or default that answers; zero for a 404 of no Ingress
	Owner  routing.Owner
	Source diag.Source      // likewise
	Host   routing.Host     // the level that decided
	Route  *routing.Route   // nil if a default backend or a 404 answers
	Miss   *routing.Default // nil unless a default backend answers

	// Few outcomes are asked for these.
	why  func() string
	over func() []*routing.Route
}

// Why explains the outcome.
func (o Outcome) Why() string {
	if o.why == nil {
		return ""
	}
	return o.why()
}

// Over returns the further routes that match the request, by precedence.
func (o Outcome) Over() []*routing.Route {
	if o.over == nil {
		return nil
	}
	return o.over()
}

// Match returns the answer of a load balancer for this Config by the specification.
func (t *Table) Match(r routing.Request) Outcome {
	pt := t.ports[r.Port]
	if pt == nil {
		return Outcome{Action: routing.NotFound(), why: func() string {
			return fmt.Sprintf("no Ingress asks for port %d", r.Port)
		}}
	}
	hosts := routing.Levels(r.Hostname())
	chain := make([]*Level, 0, len(hosts))
	for _, h := range hosts {
		if level := pt.levels[h]; level != nil {
			chain = append(chain, level)
		}
	}
	outcome := t.decide(chain[0], r)
	outcome.Action = outcome.Action.On(pt.protocol)
	route := outcome.Route // an Outcome that a closure holds would be allocated
	outcome.over = func() []*routing.Route { return t.over(chain, r, route) }
	if h := hosts[0]; pt.unsaid[h] {
		why := outcome.why
		outcome.why = func() string {
			return fmt.Sprintf("the rules of port %d cannot say host %s; %s", r.Port, h, why())
		}
	}
	return outcome
}

// over returns the routes of the levels that match a request's host which match it, too.
func (t *Table) over(chain []*Level, r routing.Request, answers *routing.Route) (out []*routing.Route) {
	for _, level := range chain {
		for _, route := range level.Routes {
			repeated := level.inOrder && route.Host != level.Host
			if route != answers && !repeated && t.matches(route, r) {
				out = append(out, route)
			}
		}
	}
	return out
}

// decide finds the answer in the first level that matches a request's host, and those after it.
func (t *Table) decide(first *Level, r routing.Request) Outcome {
	if first.Closed {
		return Outcome{Action: routing.NotFound(), Host: first.Host, why: func() string {
			return fmt.Sprintf("host %s is named, but not served on port %d", first.Host, r.Port)
		}}
	}
	reach := slices.Insert(slices.Clone(first.Next), 0, first)
	for i, level := range reach {
		for _, route := range level.Routes {
			if t.matches(route, r) {
				return Outcome{Action: route.Action, Owner: route.Owner, Source: route.Source, Host: level.Host,
					Route: route, why: func() string { return t.describeChoice(reach, i, route) }}
			}
		}
	}
	for i, level := range reach {
		if level.Miss != nil {
			return level.missed(r, func() string { return describeArrival(reach, i) })
		}
	}
	return Outcome{Action: routing.NotFound(), Host: first.Host, why: func() string {
		missed := ", no path there matches,"
		if len(first.allRoutes()) == 0 {
			missed = ","
		}
		return fmt.Sprintf("%s%s and port %d has no default backend for it", first.describe(), missed, r.Port)
	}}
}

// missed returns the answer of a level's default backend.
func (l *Level) missed(r routing.Request, arrival func() string) Outcome {
	miss, who, as := l.Miss, "the oldest default backend answers", ""
	if miss.Plain {
		who = "the oldest redirect of all requests over HTTP answers"
	}
	if l.ChallengeMiss != nil && routing.ChallengePath.Matches(r.Path) {
		miss, as = l.ChallengeMiss, ", as "+throughWhy
	}
	return Outcome{Action: miss.Action, Owner: miss.Owner, Source: miss.Source, Host: l.Host, Miss: miss, why: func() string {
		return arrival() + ", no path there matches, and " + who + as
	}}
}

// describeChoice describes why a route of one of the levels that match its host answers a request.
func (t *Table) describeChoice(chain []*Level, at int, r *routing.Route) string {
	if t.Precedence == routing.InOrder {
		return "the first match in order is " + describeText(r)
	}
	return describeArrival(chain, at) + ", " + describeRoute(r)
}

// describeArrival describes how a request reached one of the levels that match its host.
func describeArrival(chain []*Level, at int) string {
	if at == 0 {
		return chain[0].describe()
	}
	missed := "no path of " + chain[0].describe() + " matches, next "
	if chain[at].Host == routing.Any {
		return missed + "are the rules without a host"
	}
	return missed + "is " + chain[at].describe()
}

func (t *Table) matches(r *routing.Route, q routing.Request) bool {
	return t.comparer.Matches(r.Path, q.Path) && r.When.Hold(q)
}

func describeHost(h routing.Host) string {
	switch {
	case h == routing.Any:
		return "no rule names the host"
	case h.Wildcard():
		return "wildcard host " + string(h)
	}
	return "host " + string(h)
}

// throughWhy is the reason why a request is not redirected to HTTPS.
const throughWhy = "redirects to HTTPS let ACME challenges through"

func describeRoute(r *routing.Route) string {
	if r.Path.Type == routing.Exact && r.Through == nil {
		return describeText(r)
	}
	return "longest match " + describeText(r)
}

func describeText(r *routing.Route) string {
	out := r.Path.String()
	if r.Through != nil {
		out = r.Through.String()
	}
	if len(r.When) > 0 {
		out += " with " + r.When.String()
	}
	if r.Through != nil {
		out += "; " + throughWhy
	}
	return out
}
