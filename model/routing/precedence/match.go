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

	// Few outcomes are asked why, and over which routes: that is found then.
	table   *Table
	request routing.Request
}

// Why explains the outcome.
func (o Outcome) Why() string {
	if o.table == nil {
		return ""
	}
	return o.table.why(o.request)
}

// Over returns the further routes that match the request, by precedence.
func (o Outcome) Over() []*routing.Route {
	if o.table == nil || o.table.ports[o.request.Port] == nil {
		return nil
	}
	return o.table.over(o.request, o.Route)
}

// Match returns the answer of a load balancer for this Config by the specification.
func (t *Table) Match(r routing.Request) Outcome {
	pt := t.ports[r.Port]
	if pt == nil {
		return Outcome{Action: routing.NotFound(), table: t, request: r}
	}
	c := t.choose(pt, r)
	out := c.outcome()
	out.Action = out.Action.On(pt.protocol)
	out.table, out.request = t, r
	return out
}

// A choice is what answers a request.
type choice struct {
	first *Level // the first that matches the host of the request
	level *Level // the one that answers
	at    int    // its place among those that the request reaches; 0: it is the first
	route *routing.Route
	miss  *routing.Default
	// challenge: the default backend is that of ACME challenges.
	challenge bool
}

// outcome returns what is chosen, without its reason.
func (c choice) outcome() Outcome {
	switch {
	case c.route != nil:
		return Outcome{Action: c.route.Action, Owner: c.route.Owner, Source: c.route.Source, Host: c.level.Host, Route: c.route}
	case c.miss != nil:
		return Outcome{Action: c.miss.Action, Owner: c.miss.Owner, Source: c.miss.Source, Host: c.level.Host, Miss: c.miss}
	}
	return Outcome{Action: routing.NotFound(), Host: c.first.Host}
}

// choose finds the answer in the first level that matches a request's host, and those after it.
func (t *Table) choose(pt *portTable, r routing.Request) choice {
	c := choice{first: firstOf(pt, r)}
	if c.first.Closed {
		return c
	}
	for c.at = 0; c.at <= len(c.first.Next); c.at++ {
		c.level = c.first.reach(c.at)
		for _, route := range c.level.Routes {
			if t.matches(route, r) {
				c.route = route
				return c
			}
		}
	}
	for c.at = 0; c.at <= len(c.first.Next); c.at++ {
		if c.level = c.first.reach(c.at); c.level.Miss != nil {
			c.miss = c.level.Miss
			if c.level.ChallengeMiss != nil && routing.ChallengePath.Matches(r.Path) {
				c.miss, c.challenge = c.level.ChallengeMiss, true
			}
			return c
		}
	}
	return c
}

// firstOf returns the first level that matches a request's host.
func firstOf(pt *portTable, r routing.Request) *Level {
	for _, h := range routing.Levels(r.Hostname()) {
		if level := pt.levels[h]; level != nil {
			return level
		}
	}
	return nil // there is always one for any host
}

// reach returns one of the levels that a request reaches from its first one, which is that at 0.
func (l *Level) reach(at int) *Level {
	if at == 0 {
		return l
	}
	return l.Next[at-1]
}

// over returns the routes of the levels that match a request's host which match it, too.
func (t *Table) over(r routing.Request, answers *routing.Route) (out []*routing.Route) {
	pt := t.ports[r.Port]
	for _, h := range routing.Levels(r.Hostname()) {
		level := pt.levels[h]
		if level == nil {
			continue
		}
		for _, route := range level.Routes {
			repeated := level.inOrder && route.Host != level.Host
			if route != answers && !repeated && t.matches(route, r) {
				out = append(out, route)
			}
		}
	}
	return out
}

// why explains the answer to a request.
func (t *Table) why(r routing.Request) string {
	pt := t.ports[r.Port]
	if pt == nil {
		return fmt.Sprintf("no Ingress asks for port %d", r.Port)
	}
	why := t.choose(pt, r).why(t, r)
	if h := routing.Levels(r.Hostname())[0]; pt.unsaid[h] {
		return fmt.Sprintf("the rules of port %d cannot say host %s; %s", r.Port, h, why)
	}
	return why
}

// why explains a choice.
func (c choice) why(t *Table, r routing.Request) string {
	switch {
	case c.first.Closed:
		return fmt.Sprintf("host %s is named, but not served on port %d", c.first.Host, r.Port)
	case c.route != nil && t.Precedence == routing.InOrder:
		return "the first match in order is " + describeText(c.route)
	case c.route != nil:
		return c.describeArrival() + ", " + describeRoute(c.route)
	case c.miss != nil:
		who, as := "the oldest default backend answers", ""
		if c.level.Miss.Plain {
			who = "the oldest redirect of all requests over HTTP answers"
		}
		if c.challenge {
			as = ", as " + throughWhy
		}
		return c.describeArrival() + ", no path there matches, and " + who + as
	}
	missed := ", no path there matches,"
	if len(c.first.allRoutes()) == 0 {
		missed = ","
	}
	return fmt.Sprintf("%s%s and port %d has no default backend for it", c.first.describe(), missed, r.Port)
}

// describeArrival describes how a request reached the level that answers.
func (c choice) describeArrival() string {
	if c.at == 0 {
		return c.first.describe()
	}
	missed := "no path of " + c.first.describe() + " matches, next "
	if c.level.Host == routing.Any {
		return missed + "are the rules without a host"
	}
	return missed + "is " + c.level.describe()
}

func (t *Table) matches(r *routing.Route, q routing.Request) bool {
	return t.comparer.Matches(r.Path, q.Path) && r.When.Match(q)
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
