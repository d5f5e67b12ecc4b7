package compare

import (
	"cmp"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file describes the requests that get another answer.

// A Change is a class of requests whose answer changes, with the old and the new route or default
// backend.
type Change struct {
	LoadBalancer routing.Key `json:"loadBalancer"`
	Port         int32       `json:"port"`
	Scheme       string      `json:"scheme"`
	// Host is a host, a wildcard, or empty for all hosts that no rule names.
	Host routing.Host `json:"host"`
	// Request is a shortest request of the class.
	Request    Request    `json:"request"`
	Curl       string     `json:"curl"`
	Before     Answer     `json:"before"`
	After      Answer     `json:"after"`
	Protection Protection `json:"protection"`
	// Because says why requests are less or more protected.
	Because string `json:"because,omitempty"`
	// Details has the fields of a sign-in that differ, or the ports that served the requests before.
	Details []string `json:"details,omitempty"`
}

// A Request is a request in printable form.
type Request struct {
	URL     string              `json:"url"`
	Method  string              `json:"method"`
	Headers map[string][]string `json:"headers,omitempty"`
	// Source is the client's address, if it makes a difference.
	Source string `json:"source,omitempty"`

	Routed routing.Request `json:"-"`
}

// An Answer is the answer to the requests.
type Answer struct {
	Action  string `json:"action"`
	Ingress string `json:"ingress"` // namespace/name; empty if no Ingress answers
	Source  string `json:"source"`  // the field of the Ingress; likewise
	// Route is path and conditions; empty for a default backend, and if no Ingress answers.
	Route  string `json:"route"`
	SignIn string `json:"signIn,omitempty"`
	Why    string `json:"why"`
}

// change describes a difference. It reports whether Table.Match confirms it.
func (d difference) change() (Change, bool) {
	r := d.found.Request
	r.Port, r.Host = d.port, d.class.Name
	r.Method = methodOf(r)
	out := Change{
		LoadBalancer: d.key(), Port: d.port, Host: d.class.Host,
		Scheme: scheme(d.before, d.after, d.port),
	}
	out.Request = Written(out.Scheme, r)
	out.Curl = out.Request.Curl()
	before, after := match(d.before, r), match(d.after, r)
	old, now := d.old[d.found.First], d.now[d.found.Second]
	out.Before, out.After = d.answer(d.before, old, before), d.answer(d.after, now, after)
	out.Protection, out.Because, out.Details = d.protection(r)
	return out, before.Action.Key() != after.Action.Key() &&
		before.Route == old.Route && after.Route == now.Route
}

// methodOf returns the method of a request that a search found; GET if it does not matter.
func methodOf(r routing.Request) string { return cmp.Or(r.Method, "GET") }

// match returns the outcome of Table.Match, or that of a missing load balancer.
func match(t *precedence.Table, r routing.Request) precedence.Outcome {
	if t == nil {
		return precedence.Outcome{Action: routing.NotFound()}
	}
	return t.Match(r)
}

// answer describes the answer of a candidate.
func (d difference) answer(t *precedence.Table, c Candidate, o precedence.Outcome) Answer {
	out := AnswerOf(c, o)
	switch {
	case t == nil:
		out.Action, out.Why = "no load balancer", "there is no such load balancer"
	case listenerOn(t, d.port) == nil:
		out.Action = "no listener"
	}
	return out
}

// AnswerOf describes the answer of a candidate with a known outcome.
func AnswerOf(c Candidate, o precedence.Outcome) Answer {
	out := Answer{Action: lb.FromRouting(o.Action).String(), Why: o.Why()}
	if o.Owner.Name != "" {
		out.Ingress, out.Source = o.Owner.String(), o.Source.String()
	}
	if c.Route != nil {
		out.Route = c.Route.Path.String()
		if len(c.Route.When) > 0 {
			out.Route += " with " + c.Route.When.String()
		}
	}
	if c.Action.Auth != nil {
		out.SignIn = c.Action.Auth.String()
	}
	return out
}

// scheme returns the scheme of URLs on a port.
func scheme(before, after *precedence.Table, port int32) string {
	for _, t := range []*precedence.Table{after, before} {
		if l := listenerOn(t, port); l != nil {
			return strings.ToLower(string(l.Protocol))
		}
	}
	return "http"
}
