package ingress

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/routing"
)

// This file limits the endpoints and target ports that the backends of one namespace use on a load
// balancer. Older Ingresses come first, so that their backends keep their targets.

// mostEndpoints is the most endpoints of the backends of one namespace on a load balancer, counted
// with the ports of their EndpointSlices: 1,000 backends of 500 endpoints. A load balancer of AWS
// has 1,000 targets unless its quota is raised:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
const mostEndpoints = 500_000

func newEndpointBudget() endpointBudget {
	return endpointBudget{spent: map[string]int{}, of: map[Name]int{}}
}

// An endpointBudget counts the endpoints that were read for each namespace. Older Ingresses come
// first, so that their backends keep their targets.
type endpointBudget struct {
	spent map[string]int
	of    map[Name]int // endpoints of one backend of a Service
}

// A portBudget has the target ports of each namespace on a load balancer. Older Ingresses come
// first, so that theirs stay.
type portBudget map[string]map[int32]bool

// mostTargetPorts is the most different ports of the targets and health checks of one namespace on
// a load balancer. A security group of AWS has 60 rules unless its quota is raised, and all load
// balancers of a cluster share those of the nodes: a namespace may use half of them.
// https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html
const mostTargetPorts = 30

// reserve takes ports for a namespace, up to the limit, and returns those beyond it.
func (b portBudget) reserve(namespace string, ports ...int32) (over []int32) {
	if b[namespace] == nil {
		b[namespace] = map[int32]bool{}
	}
	for _, p := range ports {
		switch has := b[namespace]; {
		case has[p] || slices.Contains(over, p):
		case len(has) < mostTargetPorts:
			has[p] = true
		default:
			over = append(over, p)
		}
	}
	return over
}

// limitTargets leaves out the targets of a resolution whose ports exceed the limit of its
// namespace.
func (b portBudget) limitTargets(r *endpoints.Resolution) {
	namespace, _, _ := strings.Cut(r.Backend.Service, "/")
	var ports []int32
	for _, t := range r.Backend.Targets {
		ports = append(ports, t.Port)
	}
	over := b.reserve(namespace, ports...)
	if len(over) == 0 {
		return
	}
	r.Backend.Targets = slices.DeleteFunc(slices.Clone(r.Backend.Targets),
		func(t routing.Target) bool { return slices.Contains(over, t.Port) })
	r.AddProblem(diag.Error, diag.TargetPortNotAllowed,
		fmt.Sprintf("Service %s has targets on port %d, which are left out: %s", r.Backend.Service,
			over[0], tooManyPorts(namespace)))
}

// WithinPorts returns the wanted targets whose ports are within the limit of their namespace,
// together with the ports of its other backends on the load balancer. Registered targets come
// first, so that they stay.
func WithinPorts(want, have []routing.Target, others map[int32]bool) []routing.Target {
	const namespace = ""
	budget := portBudget{namespace: maps.Clone(others)}
	for _, t := range have {
		budget.reserve(namespace, t.Port)
	}
	var out []routing.Target
	for _, t := range want {
		if len(budget.reserve(namespace, t.Port)) == 0 {
			out = append(out, t)
		}
	}
	return out
}

func tooManyPorts(namespace string) string {
	return fmt.Sprintf("namespace %s has targets on %d different ports of this load balancer "+
		"already, which is all that it may have; let Services share ports", namespace, mostTargetPorts)
}
