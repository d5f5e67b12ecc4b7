package expectations

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/expect"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds the Ingresses because of which a plan is forbidden.

// An Offence has the Ingresses, by namespace/name, that answer requests which an expectation rules
// out: after the plan, and now. They are "" where no Ingress answers.
type Offence struct {
	Next, Now string
	// Host and Port are those of the requests: a host, a wildcard, or Any for other sets of hosts.
	Host routing.Host
	Port int32
	// Named is the most specific host that covers Host in what is served, named by a rule or spec.tls,
	// or closed; Any if there is none. Giver is its namespace, "" if that is not known.
	Named routing.Host
	Giver string
	// Request is one of them, with Why: what is wrong with its answer after the plan.
	Request routing.Request
	Why     string
	// Undecided: the search was too expensive, so that Why has its reason.
	Undecided bool
}

// cover sets Named and Giver.
func (o *Offence) cover(now *precedence.Table) {
	if now == nil {
		return
	}
	for _, host := range o.Levels() {
		for _, c := range now.Closed {
			if c.Host == host && c.Port == o.Port && host != routing.Any {
				o.Named, o.Giver = host, c.GivenUpBy
				return
			}
		}
		for _, n := range now.Names {
			if n.Listed != nil && !n.Beside && !slices.Contains(n.Ports, o.Port) {
				continue // on the port, it is a host like any other
			}
			if n.Host == host && host != routing.Any && (o.Named == routing.Any || n.Owner.String() == o.Now) {
				o.Named, o.Giver = host, n.Owner.Namespace
			}
		}
		if o.Named != routing.Any {
			return
		}
	}
}

// Levels returns the hosts that cover the host of an offence, most specific first.
func (o Offence) Levels() []routing.Host {
	if o.Host.Wildcard() {
		return []routing.Host{o.Host, routing.Any}
	}
	return routing.Levels(string(o.Host))
}

// offences returns the offences of an expectation that would be violated.
func (j Judgement) offences(r expect.Result, now, next *precedence.Table) []Offence {
	var out []Offence
	for _, v := range r.Violations {
		o := Offence{Next: v.Source.Object(), Host: v.Host.Named(), Port: v.Port, Request: v.Request.Routed,
			Why: j.message(r, v)}
		if now != nil {
			o.Now = now.Match(v.Request.Routed).Source.Object()
		}
		o.cover(now)
		out = append(out, o)
	}
	for _, u := range r.Undecided {
		out = append(out, atHost(now, next, u, fmt.Sprintf("%s could not be decided: %s", j.name(r), u.Why))...)
	}
	return out
}

// atHost returns an offence for each Ingress because of which requests could not be decided: those
// with the most specific host that covers the requests, of the namespace that is the reason, if it
// is one. There is at least one offence, for the host.
func atHost(now, next *precedence.Table, u compare.Undecided, why string) []Offence {
	at := Offence{Host: expect.Host(u.Host).Named(), Port: u.Port, Why: why, Undecided: true}
	at.cover(now)
	var out []Offence
	for _, host := range at.Levels() {
		for _, owner := range ownersAt(next, u.Port, host) {
			if u.Namespace == "" || owner.Namespace == u.Namespace {
				at.Next = owner.String()
				out = append(out, at)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return []Offence{at}
}

// ownersAt returns the Ingresses that name a host on a port, or have routes or a default there.
func ownersAt(t *precedence.Table, port int32, host routing.Host) (out []routing.Owner) {
	add := func(o routing.Owner) {
		if o.Name != "" && !slices.ContainsFunc(out, func(k routing.Owner) bool { return k.String() == o.String() }) {
			out = append(out, o)
		}
	}
	for _, n := range t.Names {
		if n.Host == host && slices.Contains(n.Ports, port) {
			add(n.Owner)
		}
	}
	if level := t.Level(port, host); level != nil {
		for _, r := range level.Routes {
			add(r.Owner)
		}
		if level.Miss != nil {
			add(level.Miss.Owner)
		}
	}
	return out
}

// exposing returns an offence for each Ingress on the port of an exposure, or of the load balancer.
func exposing(t *precedence.Table, e compare.Exposure) []Offence {
	var out []Offence
	for _, n := range t.Names {
		if e.Port == 0 || slices.Contains(n.Ports, e.Port) {
			out = append(out, Offence{Next: n.Owner.String()})
		}
	}
	return out
}

// With returns the judgement with the violations of another one, by Ingresses that it has none of.
func (j Judgement) With(o Judgement) Judgement {
	j.NewlyViolated = slices.Clone(j.NewlyViolated)
	for _, r := range o.NewlyViolated {
		at := slices.IndexFunc(j.NewlyViolated, func(k expect.Result) bool { return k.Name == r.Name })
		if at < 0 {
			j.NewlyViolated = append(j.NewlyViolated, r)
			continue
		}
		all := slices.Clip(j.NewlyViolated[at].Violations)
		for _, v := range r.Violations {
			if !slices.ContainsFunc(all, func(k expect.Violation) bool {
				return k.Source.Object() == v.Source.Object()
			}) {
				all = append(all, v)
			}
		}
		j.NewlyViolated[at].Violations = all
	}
	return j
}
