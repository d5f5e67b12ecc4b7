package expectations

import (
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
	// Why has a request, and what is wrong with its answer after the plan.
	Why string
}

// offences returns the offences of an expectation that would be violated.
func (j Judgement) offences(r expect.Result, now, next *precedence.Table) []Offence {
	var out []Offence
	for _, v := range r.Violations {
		o := Offence{Next: v.Source.Object(), Host: v.Host.Named(), Port: v.Port, Why: j.message(r, v)}
		if now != nil {
			o.Now = now.Match(v.Request.Routed).Source.Object()
		}
		out = append(out, o)
	}
	for _, u := range r.Undecided {
		out = append(out, atHost(next, u)...)
	}
	return out
}

// atHost returns an offence for each Ingress because of which requests could not be decided: those
// of the namespace that is the reason, else those that name the host.
func atHost(t *precedence.Table, u compare.Undecided) []Offence {
	var out []Offence
	for _, n := range t.Names {
		is := n.Host == u.Host && slices.Contains(n.Ports, u.Port)
		if u.Namespace != "" {
			is = n.Owner.Namespace == u.Namespace
		}
		if is {
			out = append(out, Offence{Next: n.Owner.String()})
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
