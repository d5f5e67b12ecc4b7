package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
)

// This file answers what becomes of a request: by the specification and by the rules, which
// must agree.

// An explanation is a request, its answer and the reasons. It is what explain prints as JSON,
// under the same promise as plan's.
type explanation struct {
	URL           string   `json:"url"`
	LoadBalancer  lb.Key   `json:"loadBalancer"`
	LoadBalancers []lb.Key `json:"loadBalancers"`
	Outcome       outcome  `json:"outcome"`
	Ingress       string   `json:"ingress"`
	Source        string   `json:"source"`
	Rule          string   `json:"rule"`
	Over          []beaten `json:"over"`
	Why           string   `json:"why"`
	// Refused are the errors about Ingresses that name the host.
	Refused []refusal `json:"refused"`
}

// A refusal is an error about an Ingress.
type refusal struct {
	Source  string      `json:"source"`
	Reason  diag.Reason `json:"reason"`
	Message string      `json:"message"`
}

// An outcome is what the client meets: a Service, a fixed response or a redirect.
type outcome struct {
	Kind     string              `json:"kind"`
	Service  string              `json:"service,omitempty"`
	Port     routing.ServicePort `json:"port,omitempty"`
	Services []share             `json:"services,omitempty"` // where there are several
	Status   int                 `json:"status,omitempty"`
	Location string              `json:"location,omitempty"`
}

// A share is a Service that gets some of the requests.
type share struct {
	Service string              `json:"service"`
	Port    routing.ServicePort `json:"port"`
	Weight  int32               `json:"weight"`
}

// beaten is a route that matches the request too.
type beaten struct {
	Source  string `json:"source"`
	Request string `json:"request"`
}

func (o outcome) String() string {
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

// short is the outcome as a table has room for.
func (o outcome) short() string {
	if o.Kind != "service" {
		return fmt.Sprintf("%d", o.Status)
	}
	if len(o.Services) > 0 {
		return fmt.Sprintf("%s:%s and others", o.Service, o.Port)
	}
	return fmt.Sprintf("%s:%s", o.Service, o.Port)
}

// goesTo reports whether a Service's port gets some of the requests.
func (o outcome) goesTo(service string, port routing.ServicePort) bool {
	return o.Service == service && o.Port == port || slices.ContainsFunc(o.Services, func(s share) bool {
		return s.Service == service && s.Port == port && s.Weight > 0
	})
}

// explain answers a question from the load balancer that the host belongs to.
func explain(programs []program, q question) (explanation, error) {
	e := explanation{URL: q.url, LoadBalancers: []lb.Key{}, Over: []beaten{}}
	claimants := claims(programs, q.request.Hostname())
	if len(claimants) == 0 {
		e.Outcome = outcome{Kind: "fixed", Status: 404}
		e.Why = "no load balancer has anything for this host"
		return e, nil
	}
	for _, p := range claimants {
		e.LoadBalancers = append(e.LoadBalancers, p.LoadBalancer.Key)
	}
	err := claimants[0].answer(&e, q)
	return e, err
}

// answer fills in what this load balancer does with a request.
func (p program) answer(e *explanation, q question) error {
	e.LoadBalancer = p.LoadBalancer.Key
	listener := p.after.Listener(q.request.Port)
	if listener == nil {
		e.Outcome = outcome{Kind: "fixed", Status: 404}
		e.Why = fmt.Sprintf("there is no listener on port %d", q.request.Port)
		return nil
	}
	said := p.Table.Match(q.request)
	place, done := p.matcher(listener).Match(q.request)
	e.Rule = rulePlace(listener, place)
	if want := lb.FromRouting(said.Action); want.Key() != done.Key() {
		return fmt.Errorf("%s: the specification and the rules of %s disagree: %s by %s, but %s by rule %s",
			q.url, e.LoadBalancer, want, cmp.Or(said.Source.String(), "default"), done, e.Rule)
	}
	e.Outcome = p.outcome(said.Action, q)
	e.Source, e.Why = said.Source.String(), said.Why
	if said.Owner.Name != "" {
		e.Ingress = said.Owner.String()
	}
	for _, route := range said.Over {
		e.Over = append(e.Over, beaten{route.Source.String(), q.url})
	}
	if spoken := strings.ToLower(listener.Protocol); spoken != q.scheme {
		e.Why += fmt.Sprintf("; port %d speaks %s, so ask for %s://", q.request.Port, listener.Protocol, spoken)
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

// outcome is an action as the client meets it. Of several Services the heaviest one is named.
func (p program) outcome(a routing.Action, q question) outcome {
	switch {
	case a.Fixed != nil:
		return outcome{Kind: "fixed", Status: a.Fixed.Status}
	case a.Redirect != nil:
		return outcome{Kind: "redirect", Status: a.Redirect.Status, Location: a.Redirect.Location(q.request, q.scheme, q.query)}
	}
	out := outcome{Kind: "service"}
	var heaviest int32 = -1
	for _, w := range a.Forward {
		backend := p.Table.Backends[w.Backend]
		if w.Weight > heaviest {
			heaviest, out.Service, out.Port = w.Weight, backend.Service, backend.Port
		}
		if len(a.Forward) > 1 {
			out.Services = append(out.Services, share{backend.Service, backend.Port, w.Weight})
		}
	}
	return out
}

// claims are the load balancers that name a host by a rule, or else those that answer for any
// host; the one with the oldest such Ingress first.
func claims(programs []program, host string) []program {
	levels := routing.Levels(host)
	named := slices.DeleteFunc(levels, func(h routing.Host) bool { return h == routing.Any })
	if out := claimedBy(programs, func(t *routing.Table) []routing.Owner { return naming(t, named) }); len(out) > 0 {
		return out
	}
	return claimedBy(programs, answeringAny)
}

// claimedBy are the load balancers with an owner of some sort, by the oldest of these.
func claimedBy(programs []program, owners func(*routing.Table) []routing.Owner) []program {
	type claim struct {
		program
		oldest routing.Owner
	}
	var found []claim
	for _, p := range programs {
		if all := owners(p.Table); len(all) > 0 {
			found = append(found, claim{p, slices.MinFunc(all, byAge)})
		}
	}
	slices.SortStableFunc(found, func(a, b claim) int { return byAge(a.oldest, b.oldest) })
	var out []program
	for _, c := range found {
		out = append(out, c.program)
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
