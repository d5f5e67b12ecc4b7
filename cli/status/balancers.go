package status

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
)

// This file reports load balancers: what the compiler wants of them, and what the operator says of them.

// The states of load balancers.
const (
	stateOK        = "ok"
	stateAttention = "attention"
	stateUnknown   = "unknown"
)

func (b *builder) loadBalancer(p program.Program) LoadBalancer {
	key := p.LoadBalancer.Key
	out := LoadBalancer{Key: key, Class: key.Class(), State: stateUnknown, Members: []string{}, Conditions: []Condition{},
		Listeners: []Listener{}, NotKnown: []NotKnown{}}
	out.Rules.Limit, out.Certificates.Limit = p.Capabilities.Rules, p.Capabilities.Certificates
	for _, l := range p.LoadBalancer.Listeners {
		listener := Listener{Port: l.Port, Protocol: string(l.Protocol), Rules: len(l.Rules), Certificates: []string{}}
		for _, c := range l.Certificates {
			listener.Certificates = append(listener.Certificates, string(c))
		}
		out.Listeners = append(out.Listeners, listener)
		out.Rules.Used += len(l.Rules)
		out.Certificates.Used += max(0, len(l.Certificates)-1)
	}
	services := map[string]bool{}
	for _, backend := range p.Table.Backends {
		if t := b.endpoints[backend.Service]; t != nil && !services[backend.Service] {
			services[backend.Service] = true
			if out.Endpoints == nil {
				out.Endpoints = &Targets{}
			}
			out.Endpoints.Ready += t.Ready
			out.Endpoints.NotReady += t.NotReady
		}
	}
	for _, owner := range p.Table.Members {
		out.Members = append(out.Members, owner.String())
	}
	at := slices.IndexFunc(b.Records, func(r v1alpha1.LoadBalancer) bool { return r.Spec.Key == string(key) })
	if at < 0 {
		out.NotKnown = append(out.NotKnown, NotKnown{"the operator's report: address, conditions and the last change",
			"fairlead status --live"})
	} else {
		b.report(&out, &b.Records[at])
	}
	if slices.ContainsFunc(b.Diagnostics, func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && d.Source.Kind == "Ingress" && slices.Contains(out.Members, d.Source.Object())
	}) {
		out.State = stateAttention
	}
	out.NotKnown = append(out.NotKnown, NotKnown{"the state of the cloud, and what would be changed there",
		"fairlead plan --live --provider " + cmp.Or(p.Provider, b.Provider)})
	return out
}

// report adds what the operator says.
func (b *builder) report(out *LoadBalancer, r *v1alpha1.LoadBalancer) {
	b.reported[r.Spec.Key] = true
	out.Address, out.LastError, out.Conditions = r.Status.Address, r.Status.LastError, conditionsOf(r.Status.Conditions)
	if len(out.Members) == 0 {
		out.Members = append(out.Members, r.Status.Members...)
	}
	out.State = stateOK
	for _, c := range out.Conditions {
		if wrong := c.Type == v1alpha1.ConditionDegraded || c.Type == v1alpha1.ConditionWaiting; (c.Status == "True") == wrong {
			out.State = stateAttention
		}
	}
	if last := r.Status.LastPlan; last != nil {
		change := Change{At: last.At.UTC(), Summary: last.Summary, Done: int(last.Done), Steps: []string{},
			Omitted: int(last.OmittedSteps)}
		for _, s := range last.Steps {
			text := s.Op + " " + s.ID
			if s.Detail != "" {
				text += ": " + s.Detail
			}
			change.Steps = append(change.Steps, text)
		}
		out.LastChange = &change
	}
}

// leaving reports a load balancer that no Ingress asks for any more.
func (b *builder) leaving(r *v1alpha1.LoadBalancer) LoadBalancer {
	key := lb.Key(r.Spec.Key)
	out := LoadBalancer{Key: key, Class: key.Class(), Members: []string{}, Listeners: []Listener{}, NotKnown: []NotKnown{}}
	for _, l := range r.Status.Listeners {
		out.Listeners = append(out.Listeners, Listener{l.Port, l.Protocol, int(l.Rules), []string{}})
	}
	out.Rules = Use{int(r.Status.Rules), int(r.Status.RuleLimit)}
	b.report(&out, r)
	return out
}
