package precedence

import (
	"fmt"

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
	Over   []*routing.Route // further routes that match the request, by precedence
	Why    string
}

// Match returns the answer of a load balancer for this Config by the specification.
func (t *Table) Match(r routing.Request) Outcome {
	pt := t.ports[r.Port]
	if pt == nil {
		return Outcome{Action: routing.NotFound(),
			Why: fmt.Sprintf("no Ingress asks for port %d", r.Port)}
	}
	var chain []*Level
	for _, h := range routing.Levels(r.Hostname()) {
		if level := pt.levels[h]; level != nil {
			chain = append(chain, level)
		}
	}
	outcome := t.decide(chain, r)
	outcome.Action = outcome.Action.On(pt.protocol)
	if h := routing.Levels(r.Hostname())[0]; pt.unsaid[h] {
		outcome.Why = fmt.Sprintf("the rules of port %d cannot say host %s; %s", r.Port, h, outcome.Why)
	}
	for _, level := range chain {
		for _, route := range level.Routes {
			repeated := level.inOrder && route.Host != level.Host
			if route != outcome.Route && !repeated && t.matches(route, r) {
				outcome.Over = append(outcome.Over, route)
			}
		}
	}
	return outcome
}

// decide finds the answer in the levels that match a request's host, most specific first.
func (t *Table) decide(chain []*Level, r routing.Request) Outcome {
	if chain[0].Closed {
		return Outcome{Action: routing.NotFound(), Host: chain[0].Host,
			Why: fmt.Sprintf("host %s is named, but not served on port %d", chain[0].Host, r.Port)}
	}
	reach := append([]*Level{chain[0]}, chain[0].Next...)
	for i, level := range reach {
		for _, route := range level.Routes {
			if t.matches(route, r) {
				return Outcome{Action: route.Action, Owner: route.Owner, Source: route.Source, Host: level.Host,
					Route: route, Why: t.describeChoice(reach, i, route)}
			}
		}
	}
	for i, level := range reach {
		if level.Miss != nil {
			miss, why := level.Miss, ", no path there matches, and the oldest default backend answers"
			if level.ChallengeMiss != nil && routing.ChallengePath.Matches(r.Path) {
				miss = level.ChallengeMiss
				why += ", as " + throughWhy
			}
			return Outcome{Action: miss.Action, Owner: miss.Owner, Source: miss.Source,
				Host: level.Host, Miss: miss, Why: describeArrival(reach, i) + why}
		}
	}
	missed := ", no path there matches,"
	if len(chain[0].allRoutes()) == 0 {
		missed = ","
	}
	return Outcome{Action: routing.NotFound(), Host: chain[0].Host,
		Why: fmt.Sprintf("%s%s and port %d has no default backend for it", chain[0].describe(), missed,
			r.Port)}
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
