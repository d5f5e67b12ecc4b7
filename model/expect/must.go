package expect

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
)

// This file checks answers.

// An answer is the answer to requests at a place.
type answer struct {
	place
	action routing.Action // on the listener
	asked  routing.Action // of the Ingress, for any listener
	owner  routing.Owner  // zero if no Ingress answers
}

func answerOf(at place, c compare.Candidate) answer {
	return answer{at, c.Action.On(at.listener.Protocol), c.Action, c.Owner}
}

func (a answer) answered() bool { return a.owner.Name != "" }

func (a answer) forwarded() bool { return len(a.action.Forward) > 0 }

// has reports whether an answer is by one of the Ingresses, or forwards requests to one of the
// Services.
func (a Answerers) has(given answer) bool {
	named := func(b service) bool { return b.matchesOne(a.Services) }
	return matchesOne(a.Namespaces, given.owner.Namespace) &&
		matchesOne(a.Ingresses, given.owner.String()) &&
		(len(a.Services) == 0 || slices.ContainsFunc(given.services(), named))
}

// onlyTo reports whether an answer forwards all requests to Services whose names match.
func (a answer) onlyTo(globs []string) bool {
	other := func(b service) bool { return !b.matchesOne(globs) }
	return a.forwarded() && !slices.ContainsFunc(a.services(), other)
}

// A service is a Service with a port.
type service struct{ name, port string }

func (s service) matchesOne(globs []string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		name, port, withPort := strings.Cut(g, ":")
		return routing.GlobMatch(name, s.name) && (!withPort || routing.GlobMatch(port, s.port))
	})
}

// services returns the Services of an answer, also those with weight 0: sticky clients may still
// use them.
func (a answer) services() []service {
	var out []service
	for _, w := range a.action.Forward {
		if b, known := a.table.Backends[w.Backend]; known && b.Service != "" {
			out = append(out, service{b.Service, string(b.Port)})
			continue
		} else if b.TargetGroup != "" {
			out = append(out, service{name: b.TargetGroup})
			continue
		}
		name, port, _ := strings.Cut(string(w.Backend), ":")
		out = append(out, service{name, port})
	}
	return out
}

// problems describes how an answer violates the expectation.
func (m Must) problems(a answer) []string {
	var out []string
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	if m.Answered != nil {
		add(*m.Answered != a.answered(), "must %sbe answered by an Ingress", notIf(*m.Answered))
	}
	add(len(m.Statuses) > 0 && !slices.Contains(m.Statuses, a.status()),
		"must get one of the statuses %v from the load balancer", m.Statuses)
	if !a.answered() {
		return out
	}
	if m.Forwarded != nil {
		add(*m.Forwarded != a.forwarded(), "must %sbe forwarded to a Service", notIf(*m.Forwarded))
	}
	by := func(what string, globs []string, holds bool) {
		add(len(globs) > 0 && !holds, "must be answered by %s %s only", what, list(globs))
	}
	by("Ingresses of namespace", m.Namespaces, matchesOne(m.Namespaces, a.owner.Namespace))
	by("Ingress", m.Ingresses, matchesOne(m.Ingresses, a.owner.String()))
	by("Service", m.Services, a.onlyTo(m.Services))
	if m.Redirect != nil {
		add(!m.Redirect.has(a), "must be redirected%s", m.Redirect)
	}
	if a.forwarded() {
		out = append(out, m.unprotected(a)...)
	}
	return append(out, m.exposed(a)...)
}

// unprotected lists the protections that Services lack.
func (m Must) unprotected(a answer) []string {
	var out []string
	signsIn := compare.SignsIn(a.asked)
	if m.SignIn != nil && *m.SignIn != signsIn {
		out = append(out, fmt.Sprintf("must %sbe signed in", notIf(*m.SignIn)))
	}
	if len(m.SignInWith) > 0 && (!signsIn || !slices.Contains(m.SignInWith, a.asked.Auth.Kind)) {
		out = append(out, "must be signed in with "+list(m.SignInWith))
	}
	if verified := a.scheme() == "https" && a.listener.Mutual.Verifies(); m.MutualTLS != nil &&
		*m.MutualTLS != verified {
		out = append(out, fmt.Sprintf("must %scome over mutual TLS", notIf(*m.MutualTLS)))
	}
	return out
}

// exposed lists the settings of the load balancer and its listener that violate the expectation.
func (m Must) exposed(a answer) []string {
	var out []string
	if !isAnyOf(m.LoadBalancerSchemes, schemeOf(a.table)) {
		out = append(out, "must be answered by a load balancer that is "+list(m.LoadBalancerSchemes))
	}
	if len(m.InboundWithin) > 0 && !compare.Within(a.listener.Inbound, m.InboundWithin) {
		out = append(out, "must come from "+list(m.InboundWithin))
	}
	if m.WebACL != nil && *m.WebACL != a.table.Protection.HasWebACL() {
		out = append(out, fmt.Sprintf("must %spass a web ACL", notIf(*m.WebACL)))
	}
	if a.scheme() != "https" {
		return out
	}
	if m.Certificate != nil && *m.Certificate != compare.Certified(a.table, a.listener, a.host) {
		const what = "must %sbe shown a certificate for the host"
		out = append(out, fmt.Sprintf(what, notIf(*m.Certificate)))
	}
	if !matchesOne(m.TLSPolicies, a.listener.TLSPolicy) {
		out = append(out, "must be answered under the TLS policy "+list(m.TLSPolicies))
	}
	return out
}

// status returns the status of an answer of the load balancer itself; 0 if a Service answers.
func (a answer) status() int32 {
	switch {
	case a.action.Fixed != nil:
		return int32(a.action.Fixed.Status)
	case a.action.Redirect != nil:
		return int32(a.action.Redirect.Status)
	}
	return 0
}

// has reports whether an answer is a matching redirect.
func (r Redirect) has(a answer) bool {
	to := a.action.Redirect
	if to == nil {
		return false
	}
	scheme := strings.ToLower(to.Scheme)
	if scheme == "" || scheme == "#{protocol}" {
		scheme = a.scheme()
	}
	return isAnyOf(r.Schemes, scheme) && isAnyOf(r.Statuses, int32(to.Status))
}

// String describes the redirect, to follow "redirected".
func (r Redirect) String() string {
	out := ""
	if len(r.Schemes) > 0 {
		out += " to " + list(r.Schemes)
	}
	if len(r.Statuses) > 0 {
		out += fmt.Sprintf(" with one of the statuses %v", r.Statuses)
	}
	return out
}

func notIf(must bool) string {
	if must {
		return ""
	}
	return "not "
}

func list(words []string) string { return strings.Join(printable.Words(words), " or ") }
