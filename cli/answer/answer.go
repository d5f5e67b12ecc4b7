// Package answer computes which Service answers a request, by which rule, and why.
package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file computes the answer twice: from the specification and from the rules. The two must
// agree.

// An Explanation is a request, its answer and the reasons. It is the JSON that explain prints: keys
// may be added, and none may change.
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
	// Refused has the refusals of Ingresses that name the host.
	Refused []Refusal `json:"refused"`
}

// An Outcome is the response to a client: of a Service, a fixed response or a redirect; none if no
// listener accepts the connection.
type Outcome struct {
	Kind     string              `json:"kind"`
	Service  string              `json:"service,omitempty"`
	Port     routing.ServicePort `json:"port,omitempty"`
	Services []Share             `json:"services,omitempty"` // where there are several
	Status   int                 `json:"status,omitempty"`
	Location string              `json:"location,omitempty"`
}

// unanswered is the kind of an outcome without a response.
const unanswered = "none"

// A Share is a Service that gets a part of the requests.
type Share struct {
	Service string              `json:"service"`
	Port    routing.ServicePort `json:"port"`
	Weight  int32               `json:"weight"`
}

// A beaten route matches the request, too, but with lower precedence.
type beaten struct {
	Source  string `json:"source"`
	Request string `json:"request"`
}

func (o Outcome) String() string {
	switch o.Kind {
	case unanswered:
		return "nothing: no load balancer accepts such a connection"
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

// Short returns the outcome in few characters, for a table.
func (o Outcome) Short() string {
	if o.Kind == unanswered {
		return "none"
	}
	if o.Kind != "service" {
		return fmt.Sprintf("%d", o.Status)
	}
	if len(o.Services) > 0 {
		return fmt.Sprintf("%s:%s and others", o.Service, o.Port)
	}
	return fmt.Sprintf("%s:%s", o.Service, o.Port)
}

// GoesTo reports whether a port of a Service gets a part of the requests.
func (o Outcome) GoesTo(service string, port routing.ServicePort) bool {
	return o.Service == service && o.Port == port ||
		slices.ContainsFunc(o.Services, func(s Share) bool {
			return s.Service == service && s.Port == port && s.Weight > 0
		})
}

// Explain returns the answer of the load balancer of the host.
func Explain(programs []program.Program, q Question) (Explanation, error) {
	e := Explanation{URL: q.Asked, LoadBalancers: []lb.Key{}, Over: []beaten{}}
	claimants := claims(programs, q.Request.Hostname())
	if len(claimants) == 0 {
		e.Outcome = Outcome{Kind: unanswered}
		e.Why = "no load balancer has anything for this host"
		return e, nil
	}
	for _, p := range claimants {
		e.LoadBalancers = append(e.LoadBalancers, p.LoadBalancer.Key)
	}
	err := FillAnswer(claimants[0], &e, q)
	return e, err
}

// FillAnswer fills in how a load balancer answers a request.
func FillAnswer(p program.Program, e *Explanation, q Question) error {
	e.LoadBalancer = p.LoadBalancer.Key
	listener := p.After.Listener(q.Request.Port)
	if listener == nil {
		e.Outcome = Outcome{Kind: unanswered}
		e.Why = fmt.Sprintf("there is no listener on port %d", q.Request.Port)
		return nil
	}
	said := p.Table.Match(q.Request)
	place, done := p.Matcher(listener).Match(q.Request)
	e.Rule = rulePlace(listener, place)
	if want := lb.FromRouting(said.Action); want.Key() != done.Key() {
		return fmt.Errorf("%s: the specification and the rules of %s disagree: "+
			"%s by %s, but %s by rule %s",
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
	if spoken := strings.ToLower(string(listener.Protocol)); spoken != q.Scheme {
		e.Why += fmt.Sprintf("; port %d speaks %s, so ask for %s://", q.Request.Port, listener.Protocol,
			spoken)
	}
	return nil
}

// rulePlace returns the port and the priority of a rule.
func rulePlace(l *lb.ObservedListener, rule int) string {
	if rule < 0 {
		return fmt.Sprintf("%d/default", l.Port)
	}
	return fmt.Sprintf("%d/%d", l.Port, l.Rules[rule].Priority)
}

// outcomeOf returns the response that an action gives. Of several Services, it names the one with
// the largest weight.
func outcomeOf(p program.Program, a routing.Action, q Question) Outcome {
	switch {
	case a.Fixed != nil:
		return Outcome{Kind: "fixed", Status: a.Fixed.Status}
	case a.Redirect != nil:
		return Outcome{Kind: "redirect", Status: a.Redirect.Status,
			Location: a.Redirect.Location(q.Request, q.Scheme, q.Query)}
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

// claims returns the load balancers that name a host in a rule, or else those that answer for any
// host. The one with the oldest such Ingress is first.
func claims(programs []program.Program, host string) []program.Program {
	levels := routing.Levels(host)
	named := slices.DeleteFunc(levels, func(h routing.Host) bool { return h == routing.Any })
	byName := func(t *precedence.Table) []routing.Owner { return naming(t, named) }
	if out := claimedBy(programs, byName); len(out) > 0 {
		return out
	}
	return claimedBy(programs, answeringAny)
}

// claimedBy returns the load balancers that have owners of some kind, by the age of the oldest.
func claimedBy(
	programs []program.Program, owners func(*precedence.Table) []routing.Owner,
) []program.Program {
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

// byAge compares Ingresses of different load balancers. The annotation for the order has no meaning
// between these.
func byAge(a, b routing.Owner) int {
	a.Order, b.Order = 0, 0
	return routing.Older(a, b)
}

// naming returns the Ingresses with a rule for one of the hosts.
func naming(t *precedence.Table, hosts []routing.Host) []routing.Owner {
	var owners []routing.Owner
	for _, n := range t.Names {
		if slices.Contains(hosts, n.Host) {
			owners = append(owners, n.Owner)
		}
	}
	return owners
}

// answeringAny returns the Ingresses with a rule for any host, or with a default backend.
func answeringAny(t *precedence.Table) []routing.Owner {
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

// Text returns the explanation for people.
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
		line(r.label(), fmt.Sprintf("%s: %s: %s", r.Source, r.Reason, r.Message))
	}
	for _, key := range e.LoadBalancers {
		if key != e.LoadBalancer {
			line("not of", string(key)+", which claims the host too")
		}
	}
	return b.String()
}
