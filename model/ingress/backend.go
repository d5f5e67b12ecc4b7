package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file makes backends of Services. A missing or unusable Service is a backend without targets:
// its requests get 503, and no rule changes when it returns.

// actionOf returns the action of a backend of an Ingress.
func (v *memberBackends) actionOf(b *networkingv1.IngressBackend, field string) routing.Action {
	if b.Resource != nil {
		return v.resource(b.Resource, field+".resource")
	}
	return routing.To(v.forward(b.Service.Name, v1alpha1.ServicePort(b.Service.Port), "", field+".service"))
}

// forward returns the backend of a Service port. Provider has settings of a Backend for it.
func (v *memberBackends) forward(service string, port v1alpha1.ServicePort, provider,
	field string) routing.BackendID {
	name := Name{Namespace: v.Namespace, Name: service}
	asked := v.settingsOf(name, field)
	ref := endpoints.Reference{
		Service: name.String(), PortName: port.Name, PortNumber: port.Number,
		TargetType:     asked.TargetType,
		TargetProtocol: endpoints.TargetProtocol{Protocol: asked.Protocol, Version: asked.Version},
		Provider:       provider,
	}
	if ref.TargetType == v1alpha1.TargetTypeInstance {
		ref.NodeLabels = asked.NodeLabels
	}
	r := v.pool.resolved[ref]
	if r == nil {
		r = v.resolve(name, ref)
		v.pool.ports.limitTargets(r)
		v.pool.resolved[ref] = r
	}
	if r.Unverified && !v.pool.toldPodsUnknown {
		v.pool.toldPodsUnknown = true
		v.addDiagnostic(diag.Info, diag.EndpointForeign, field,
			"there are no Pods among the objects, so endpoints that name one are taken for what they say")
	}
	for _, p := range r.Problems {
		if !v.alreadyReported(p) {
			v.addDiagnostic(p.Severity, p.Reason, field, p.Text)
		}
	}
	entry := v.pool.entries[r.Backend.ID]
	if entry == nil {
		entry = &pooled{Backend: r.Backend}
		v.pool.entries[r.Backend.ID] = entry
	}
	if len(asked.HealthAsked) > 0 {
		v.claimHealth(entry, v.Services[name], asked.HealthAsked, field)
	}
	if asked.NodeLabels != "" && ref.NodeLabels == "" {
		v.tellUnusedLabels(entry.ID, field)
	}
	v.claimAttributes(entry, asked.GroupAttributes, field)
	return r.Backend.ID
}

// tellUnusedLabels adds a diagnostic that targets which are not nodes are not chosen by labels.
func (v *memberBackends) tellUnusedLabels(id routing.BackendID, field string) {
	p := endpoints.Problem{Severity: diag.Warning, Reason: diag.SettingConflict,
		Text: fmt.Sprintf("it has no effect on %s, whose targets are not nodes: that needs target type "+
			"instance", id)}
	if !v.alreadyReported(p) {
		v.Found = append(v.Found, diag.Diagnostic{Severity: p.Severity, Reason: p.Reason,
			Source: v.settingSource(settings.TargetNodeLabels, field), Message: p.Text})
	}
}

// claimHealth adds a member's settings to a health check, after those of older members.
func (v *memberBackends) claimHealth(b *pooled, service *corev1.Service, asked map[string]string,
	field string) {
	health := maps.Clone(b.health)
	if health == nil {
		health = map[string]settingClaim{}
	}
	var added []string
	for _, annotation := range slices.Sorted(maps.Keys(asked)) {
		value := asked[annotation]
		if annotation == settings.HealthPort {
			port, may := v.checkedPort(service, b.TargetType, value, field)
			if !may {
				continue
			}
			value = port
		}
		if annotation == settings.HealthCodes && !settings.AreCodesOf(b.Version, value) {
			v.Found = append(v.Found, settingConflict(v.Member, annotation,
				fmt.Sprintf("%s are no codes of %s, which %s speaks", diag.Cut(value), b.Version, b.ID)))
			continue
		}
		if before, claimed := health[annotation]; !claimed {
			health[annotation] = settingClaim{Value: value, Owner: v.Owner}
			added = append(added, annotation)
		} else if before.Value != value {
			v.Found = append(v.Found, settingConflict(v.Member, annotation,
				fmt.Sprintf("%s decides for %s, and says %s", before.Owner, b.ID, diag.Cut(before.Value))))
		}
	}
	if err := settings.CheckHealth(values(health), &v.pool.class.LoadBalancerClassSpec); err != nil {
		for _, annotation := range added {
			v.Found = append(v.Found, settingConflict(v.Member, annotation,
				fmt.Sprintf("it does not fit with what older Ingresses say for %s: %s", b.ID, err)))
		}
		return
	}
	b.health = health
}

// claimAttributes adds a member's attributes to a backend, after those of older members.
func (v *memberBackends) claimAttributes(b *pooled, all settings.Attributes,
	field string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		asked := all[name]
		mine := routing.Attribute{Name: name, Value: asked.Value, Owner: v.Owner,
			Source: v.settingSource(asked.Annotation, field)}
		at, claimed := slices.BinarySearchFunc(b.Attributes, name,
			func(a routing.Attribute, name string) int { return cmp.Compare(a.Name, name) })
		switch {
		case !claimed:
			b.Attributes = slices.Insert(slices.Clone(b.Attributes), at, mine)
		case b.Attributes[at].Value != mine.Value:
			v.Found = append(v.Found, settingConflict(v.Member, asked.Annotation,
				fmt.Sprintf("%s decides on %s for %s, and says %s", b.Attributes[at].Owner, diag.Cut(name),
					b.ID, diag.Cut(b.Attributes[at].Value))))
		}
	}
}

// resolve looks a reference up, or returns no targets if its namespace has used up its endpoints.
func (v *memberBackends) resolve(service Name,
	ref endpoints.Reference) *endpoints.Resolution {
	budget := v.pool.endpoints
	takes, known := budget.of[service]
	if !known {
		for _, s := range v.EndpointSlices[service] {
			takes += 1 + len(s.Ports) + len(s.Endpoints)
		}
		budget.of[service] = takes
	}
	namespace := service.Namespace
	if budget.spent[namespace]+takes <= mostEndpoints {
		budget.spent[namespace] += takes
		return endpoints.Resolve(&v.pool.class.LoadBalancerClassSpec, ref, v.endpointsOf(service))
	}
	r := endpoints.Resolve(&v.pool.class.LoadBalancerClassSpec, ref,
		endpoints.Objects{Service: v.Services[service]})
	r.Problems = nil
	r.AddProblem(diag.Error, diag.TooComplex, fmt.Sprintf(
		"the backends of namespace %s on this load balancer have more than %d endpoints and ports of "+
			"EndpointSlices in all, each backend for itself, so nothing is sent to Service %s: have fewer "+
			"backends, or fewer ports or endpoints of a Service",
		namespace, mostEndpoints, ref.Service))
	return r
}
