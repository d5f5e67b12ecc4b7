package ingress

import (
	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file holds the backends of a load balancer, which its members share.

func newBackendPool(c *Class, clients map[string]string) *backendPool {
	return &backendPool{class: c, clients: clients, resolved: map[endpoints.Reference]*endpoints.Resolution{},
		entries: map[routing.BackendID]*pooled{}, checked: map[Name]*v1alpha1.BackendSpec{},
		ports: portBudget{}, endpoints: newEndpointBudget()}
}

// backends returns all backends of the pool with their health checks.
func (p *backendPool) backends() map[routing.BackendID]routing.Backend {
	out := make(map[routing.BackendID]routing.Backend, len(p.entries))
	usual := map[endpoints.TargetProtocol]routing.HealthCheck{}
	for id, e := range p.entries {
		b := e.Backend
		if b.TargetGroup != "" { // its health check is that of others
			out[id] = b
			continue
		}
		of := endpoints.TargetProtocol{Protocol: b.Protocol, Version: b.Version}
		if len(e.health) > 0 {
			b.Health = settings.HealthCheck(values(e.health), &p.class.LoadBalancerClassSpec, of.Protocol,
				of.Version)
		} else {
			if _, known := usual[of]; !known {
				usual[of] = settings.HealthCheck(nil, &p.class.LoadBalancerClassSpec, of.Protocol, of.Version)
			}
			b.Health = usual[of]
		}
		out[id] = b
	}
	return out
}

func values(claims map[string]settingClaim) map[string]string {
	out := make(map[string]string, len(claims))
	for annotation, c := range claims {
		out[annotation] = c.Value
	}
	return out
}

// A backendPool holds the backends of a load balancer, which its members share.
type backendPool struct {
	class    *Class
	clients  map[string]string // the last client of each Secret of an identity provider
	resolved map[endpoints.Reference]*endpoints.Resolution
	entries  map[routing.BackendID]*pooled
	checked  map[Name]*v1alpha1.BackendSpec // valid ones with their defaults, nil for others
	Found    []diag.Diagnostic              // about Backends
	ports    portBudget

	endpoints       endpointBudget
	toldPodsUnknown bool // it was reported that endpoints are used without a check of their Pods
}

// A pooled is a backend with the settings of its health check, by annotation.
type pooled struct {
	routing.Backend
	health map[string]settingClaim
}
