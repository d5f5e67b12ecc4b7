package ingress

import (
	"fmt"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
)

// This file bounds the endpoints that are looked at. A Service has up to 100 ports and thousands of
// endpoints behind each, and each of its ports is a backend: one Ingress could ask for millions of
// targets.

// mostEndpoints is how many endpoints are looked at for the backends of one namespace on a load
// balancer, with the ports of their EndpointSlices: 1,000 backends of 500 endpoints. A load
// balancer of AWS has 1,000 targets unless its quota is raised:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
const mostEndpoints = 500_000

// An endpointBudget is what has been looked at for each namespace. Older Ingresses come first, so
// that their backends keep their targets.
type endpointBudget struct {
	spent map[string]int
	of    map[name]int // what one backend of a Service takes
}

func newEndpointBudget() endpointBudget {
	return endpointBudget{spent: map[string]int{}, of: map[name]int{}}
}

// resolve looks a reference up, or leaves it without targets if its namespace has no endpoints left
// to look at.
func (v *visit) resolve(service name, ref endpoints.Reference) *endpoints.Resolution {
	budget := v.pool.endpoints
	takes, known := budget.of[service]
	if !known {
		for _, s := range v.slices[service] {
			takes += 1 + len(s.Ports) + len(s.Endpoints)
		}
		budget.of[service] = takes
	}
	namespace := service.namespace
	if budget.spent[namespace]+takes <= mostEndpoints {
		budget.spent[namespace] += takes
		return endpoints.Resolve(&v.class.LoadBalancerClassSpec, ref, v.behind(service))
	}
	r := endpoints.Resolve(&v.class.LoadBalancerClassSpec, ref, endpoints.Objects{Service: v.services[service]})
	r.Problems = nil
	r.Tell(diag.Error, diag.TooComplex, fmt.Sprintf(
		"the backends of namespace %s on this load balancer have more than %d endpoints and ports of EndpointSlices in all, each backend for itself, so nothing is sent to Service %s: have fewer backends, or fewer ports or endpoints of a Service",
		namespace, mostEndpoints, ref.Service))
	return r
}
