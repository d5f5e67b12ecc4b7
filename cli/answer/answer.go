// Package answer computes which Service answers a request, by which rule, and why.
package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
)

// This file answers what becomes of a request: by the specification and by the rules, which
// must agree.

// An explanation is a request, its answer and the reasons. It is what explain prints as JSON,
// under the same promise as plan's.
type Explanation struct {
	URL           string   `json:"url"`
	LoadBalancer  lb.Key   `json:"loadBalancer"`
	LoadBalancers []lb.Key `json:"loadBalancers"`
	Outcome       Outcome  `json:"outcome"`
	Ingress       string   `json:"ingress"`
	Source        string   `json:"source"`
	Rule          string   `json:"rule"`
	Over          []beaten `json:"over"`
	Why           string   `json:"why"`
	// Refused are the errors about Ingresses that name the host.
	Refused []Refusal `json:"refused"`
}

// A refusal is an error about an Ingress.
type Refusal struct {
	Source  string      `json:"source"`
	Reason  diag.Reason `json:"reason"`
	Message string      `json:"message"`
}

// An outcome is what the client meets: a Service, a fixed response or a redirect.
type Outcome struct {
	Kind     string              `json:"kind"`
	Service  string              `json:"service,omitempty"`
	Port     routing.ServicePort `json:"port,omitempty"`
	Services []Share             `json:"services,omitempty"` // where there are several
	Status   int                 `json:"status,omitempty"`
	Location string              `json:"location,omitempty"`
}

// A share is a Service that gets some of the requests.
type Share struct {
	Service string              `json:"service"`
	Port    routing.ServicePort `json:"port"`
	Weight  int32               `json:"weight"`
}

// beaten is a route that matches the request too.
type beaten struct {
	Source  string `json:"source"`
	Request string `json:"request"`
}

func (o Outcome) String() string {
	switch o.Kind {
	case "fixed":
		return fmt.Sprintf("fixed response %d", o.Status)
	case "redirect":
		return fmt.Sprintf("redirect %d to %s", o.Status, printable.Word(o.Location))
	}
	if len(o.Services) == 0 {
		return fmt.Sprintf("Service %s port %s", o.Service, o.Port)
	}
	var shares []string
	for _, s := range o.Services {
		shares = append(shares, fmt.Sprintf("%s port %s (weight %d)", s.Service, s.Port, s.Weight))
	}
	return "Services " + strings.Join(shares, ", ")
}

// Short is the outcome as a table has room for.
func (o Outcome) Short() string {
	if o.Kind != "service" {
		return fmt.Sprintf("%d", o.Status)
	}
	if len(o.Services) > 0 {
		return fmt.Sprintf("%s:%s and others", o.Service, o.Port)
	}
	return fmt.Sprintf("%s:%s", o.Service, o.Port)
}

// GoesTo reports whether a Service's port gets some of the requests.
func (o Outcome) GoesTo(service string, port routing.ServicePort) bool {
	return o.Service == service && o.Port == port || slices.ContainsFunc(o.Services, func(s Share) bool {
		return s.Service == service && s.Port == port && s.Weight > 0
	})
}

// Explain answers a question from the load balancer that the host belongs to.
func Explain(programs []program.Program, q Question) (Explanation, error) {
	e := Explanation{URL: q.Asked, LoadBalancers: []lb.Key{}, Over: []beaten{}}
	claimants := claims(programs, q.Request.Hostname())
	if len(claimants) == 0 {
		e.Outcome = Outcome{Kind: "fixed", Status: 404}
		e.Why = "no load balancer has anything for this host"
		return e, nil
	}
	for _, p := range claimants {
		e.LoadBalancers = append(e.LoadBalancers, p.LoadBalancer.Key)
	}
	err := To(claimants[0], &e, q)
	return e, err
}

// To fills in what this load balancer does with a request.
func To(p program.Program, e *Explanation, q Question) error {
	e.LoadBalancer = p.LoadBalancer.Key
	listener := p.After.Listener(q.Request.Port)
	if listener == nil {
		e.Outcome = Outcome{Kind: "fixed", Status: 404}
		e.Why = fmt.Sprintf("there is no listener on port %d", q.Request.Port)
		return nil
	}
	said := p.Table.Match(q.Request)
	place, done := p.Matcher(listener).Match(q.Request)
	e.Rule = rulePlace(listener, place)
	if want := lb.FromRouting(said.Action); want.Key() != done.Key() {
		return fmt.Errorf("%s: the specification and the rules of %s disagree: %s by %s, but %s by rule %s",
			q.Asked, e.LoadBalancer, want, cmp.Or(said.Source.String(), "default"), done, e.Rule)
	}
	e.Outcome = outcomeOf(p, said.Action, q)
	e.Source, e.Why = said.Source.String(), said.Why
	if said.Owner.Name != "" {
		e.Ingress = said.Owner.String()
	}
	for _, route := range said.Over {
		e.Over = append(e.Over, beaten{route.Source.String(), q.Asked})
	}
	if spoken := strings.ToLower(listener.Protocol); spoken != q.Scheme {
		e.Why += fmt.Sprintf("; port %d speaks %s, so ask for %s://", q.Request.Port, listener.Protocol, spoken)
	}
	return nil
}

// rulePlace is where a rule stands: its port and priority.
func rulePlace(l *lb.ObservedListener, rule int) string {
	if rule < 0 {
		return fmt.Sprintf("%d/default", l.Port)
	}
	return fmt.Sprintf("%d/%d", l.Port, l.Rules[rule].Priority)
}

// outcomeOf is an action as the client meets it. Of several Services the heaviest one is named.
func outcomeOf(p program.Program, a routing.Action, q Question) Outcome {
	switch {
	case a.Fixed != nil:
		return Outcome{Kind: "fixed", Status: a.Fixed.Status}
	case a.Redirect != nil:
		return Outcome{Kind: "redirect", Status: a.Redirect.Status, Location: a.Redirect.Location(q.Request, q.Scheme, q.Query)}
	}
	out := Outcome{Kind: "service"}
	var heaviest int32 = -1
	for _, w := range a.Forward {
		backend := p.Table.Backends[w.Backend]
		if w.Weight > heaviest {
			heaviest, out.Service, out.Port = w.Weight, backend.Service, backend.Port
		}
		if len(a.Forward) > 1 {
			out.Services = append(out.Services, Share{backend.Service, backend.Port, w.Weight})
		}
	}
	return out
}

// claims are the load balancers that name a host by a rule, or else those that answer for any
// host; the one with the oldest such Ingress first.
func claims(programs []program.Program, host string) []program.Program {
	levels := routing.Levels(host)
	named := slices.DeleteFunc(levels, func(h routing.Host) bool { return h == routing.Any })
	if out := claimedBy(programs, func(t *routing.Table) []routing.Owner { return naming(t, named) }); len(out) > 0 {
		return out
	}
	return claimedBy(programs, answeringAny)
}

// claimedBy are the load balancers with an owner of some sort, by the oldest of these.
func claimedBy(programs []program.Program, owners func(*routing.Table) []routing.Owner) []program.Program {
	type claim struct {
		program.Program
		oldest routing.Owner
	}
	var found []claim
	for _, p := range programs {
		if all := owners(p.Table); len(all) > 0 {
			found = append(found, claim{p, slices.MinFunc(all, byAge)})
		}
	}
	slices.SortStableFunc(found, func(a, b claim) int { return byAge(a.oldest, b.oldest) })
	var out []program.Program
	for _, c := range found {
		out = append(out, c.Program)
	}
	return out
}

// byAge compares Ingresses of different load balancers, between which no order is permitted.
func byAge(a, b routing.Owner) int {
	a.Order, b.Order = 0, 0
	return routing.Older(a, b)
}

// naming are the Ingresses with a rule for one of the hosts.
func naming(t *routing.Table, hosts []routing.Host) []routing.Owner {
	var owners []routing.Owner
	for _, n := range t.Names {
		if slices.Contains(hosts, n.Host) {
			owners = append(owners, n.Owner)
		}
	}
	return owners
}

// answeringAny are the Ingresses with a rule that names no host, or with a default backend.
func answeringAny(t *routing.Table) []routing.Owner {
	var owners []routing.Owner
	for _, r := range t.Routes {
		if r.Host == routing.Any {
			owners = append(owners, r.Owner)
		}
	}
	for _, d := range t.Defaults {
		owners = append(owners, d.Owner)
	}
	return owners
}

// Text is the explanation for a person.
func (e Explanation) Text(colour output.Palette) string {
	var b strings.Builder
	line := func(what, said string) {
		if said != "" {
			fmt.Fprintf(&b, "  %-12s %s\n", what, printable.Line(said))
		}
	}
	fmt.Fprintln(&b, colour.Bold(printable.Line(e.URL)))
	line("answered by", e.Outcome.String())
	line("because", e.Why)
	line("asked for by", e.Source)
	line("rule", cmp.Or(e.Rule, "none"))
	line("of", string(e.LoadBalancer))
	for _, o := range e.Over {
		line("instead of", o.Source)
	}
	for _, r := range e.Refused {
		line("refused", fmt.Sprintf("%s: %s: %s", r.Source, r.Reason, r.Message))
	}
	for _, key := range e.LoadBalancers {
		if key != e.LoadBalancer {
			line("not of", string(key)+", which claims the host too")
		}
	}
	return b.String()
}
