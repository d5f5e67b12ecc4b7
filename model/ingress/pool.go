package ingress

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

func newPool(c *Class, clients map[string]string) *pool {
	return &pool{class: c, clients: clients, resolved: map[endpoints.Reference]*endpoints.Resolution{}, entries: map[routing.BackendID]*pooled{}, checked: map[name]bool{}, ports: portBudget{}, endpoints: newEndpointBudget()}
}

// backends are all of the pool, with their health checks decided.
func (p *pool) backends() map[routing.BackendID]routing.Backend {
	out := make(map[routing.BackendID]routing.Backend, len(p.entries))
	usual := map[endpoints.Speech]routing.HealthCheck{}
	for id, e := range p.entries {
		b := e.Backend
		of := endpoints.Speech{Protocol: b.Protocol, Version: b.Version}
		if len(e.health) > 0 {
			b.Health = settings.HealthCheck(values(e.health), &p.class.LoadBalancerClassSpec, of.Protocol, of.Version)
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

func values(claims map[string]claim) map[string]string {
	out := make(map[string]string, len(claims))
	for annotation, c := range claims {
		out[annotation] = c.value
	}
	return out
}

// A pool is the backends of a load balancer, shared by all that use them.
type pool struct {
	class    *Class
	clients  map[string]string // the client that each Secret of an identity provider held last
	resolved map[endpoints.Reference]*endpoints.Resolution
	entries  map[routing.BackendID]*pooled
	checked  map[name]bool     // whether Backends are valid
	found    []diag.Diagnostic // about Backends
	ports    portBudget

	endpoints endpointBudget
	blind     bool // whether it was told that endpoints are taken for what they say
}

// pooled is a backend with the settings of its health check, by annotation.
type pooled struct {
	routing.Backend
	health map[string]claim
}
