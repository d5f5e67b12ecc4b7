// Package endpoints finds the targets of a Service port: addresses of Pods, or nodes with a node
// port. It leaves out endpoints of EndpointSlices that must not be targets.
package endpoints

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file finds the endpoints of a Service port in its EndpointSlices.

type classSpec = v1alpha1.LoadBalancerClassSpec

const (
	IPv4 = "ipv4"
	ipv6 = "ipv6"
)

// Objects has a Service and the objects that its targets are found in.
type Objects struct {
	Service *corev1.Service // nil if there is none
	Slices  SliceList
	Nodes   []*corev1.Node // where targets are instances
	Pods    []*corev1.Pod  // the known Pods of endpoints
	// PodsKnown and Awaited are as in ingress.Objects.
	PodsKnown bool
	Awaited   map[Claim]bool
}

// SliceList has the EndpointSlices of one Service.
type SliceList []*discoveryv1.EndpointSlice

// Targets returns the endpoints of a port, sorted, without duplicates.
func (l SliceList) Targets(port *corev1.ServicePort, family string) []routing.Target {
	var out []routing.Target
	for _, e := range l.usable(port, family) {
		// further addresses have no meaning in the API
		out = append(out, routing.Target{Address: e.Addresses[0], Port: e.number})
	}
	return sortedTargets(out)
}

// A usableEndpoint is an endpoint that requests may be sent to, with the number of its port.
type usableEndpoint struct {
	discoveryv1.Endpoint
	number int32
}

// usable returns the ready endpoints of a port. If there are none, it returns the terminating
// endpoints that still serve.
func (l SliceList) usable(port *corev1.ServicePort, family string) []usableEndpoint {
	var staying, going []usableEndpoint
	for _, s := range l {
		number := numberOf(s, port)
		if number == 0 || familyOfSlice(s) != family {
			continue
		}
		for _, e := range s.Endpoints {
			if len(e.Addresses) == 0 {
				continue
			}
			switch {
			case isTerminating(e) && isServing(e):
				going = append(going, usableEndpoint{e, number})
			case !isTerminating(e) && isReady(e):
				staying = append(staying, usableEndpoint{e, number})
			}
		}
	}
	if len(staying) == 0 {
		return going
	}
	return staying
}

func sortedTargets(targets []routing.Target) []routing.Target {
	slices.SortFunc(targets, func(a, b routing.Target) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port),
			cmp.Compare(a.Instance, b.Instance))
	})
	return slices.Compact(targets)
}

// HasNoEndpoints reports whether a Service does not exist, or has no endpoints.
func (b Objects) HasNoEndpoints() bool {
	return b.Service == nil || !slices.ContainsFunc(b.Slices, func(s *discoveryv1.EndpointSlice) bool {
		return len(s.Endpoints) > 0
	})
}

// HasUnreadyEndpoints reports whether a Service has endpoints that are not ready yet.
func (b Objects) HasUnreadyEndpoints() bool {
	return slices.ContainsFunc(b.Slices, func(s *discoveryv1.EndpointSlice) bool {
		return slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
			return isUnready(e) && !b.waits(s, e)
		})
	})
}

// isUnready reports whether an endpoint is not ready, and not terminating.
func isUnready(e discoveryv1.Endpoint) bool { return !isReady(e) && !isTerminating(e) }

// isReady reports whether an endpoint is ready, as the API defines it: unknown counts as ready. If
// a Service publishes addresses that are not ready, all of its endpoints are ready, also
// terminating ones.
func isReady(e discoveryv1.Endpoint) bool {
	return e.Conditions.Ready == nil || *e.Conditions.Ready
}

// isServing reports whether an endpoint would be ready if it were not terminating.
func isServing(e discoveryv1.Endpoint) bool {
	return isReady(e) || e.Conditions.Serving != nil && *e.Conditions.Serving
}

func isTerminating(e discoveryv1.Endpoint) bool {
	return e.Conditions.Terminating != nil && *e.Conditions.Terminating
}

// numberOf returns the port number on which the endpoints of a slice serve a Service port, or 0.
// Ports are matched by name, because the numbers of Pods may differ from those of the Service.
func numberOf(s *discoveryv1.EndpointSlice, port *corev1.ServicePort) int32 {
	for _, p := range s.Ports {
		named := p.Name == nil && port.Name == "" || p.Name != nil && *p.Name == port.Name
		tcp := p.Protocol == nil || *p.Protocol == corev1.ProtocolTCP
		if named && tcp && p.Port != nil {
			return *p.Port
		}
	}
	return 0
}

func familyOfSlice(s *discoveryv1.EndpointSlice) string {
	switch s.AddressType {
	case discoveryv1.AddressTypeIPv4:
		return IPv4
	case discoveryv1.AddressTypeIPv6:
		return ipv6
	}
	return ""
}

// Found has the targets of a backend.
type Found struct {
	Targets []routing.Target
	// Awaited are targets that stay if they are registered, until their Pods are known, or are known
	// to be missing.
	Awaited []routing.Target
	// Doubted is true if the Pods of endpoints may become known later. Disputed is true if no nodes
	// are targets, because they would pass requests on to endpoints that are not, or may not be, Pods
	// of the namespace.
	Doubted, Disputed bool
	// Left describes endpoints that are left out, with the reason; "" for none.
	Left string
}

// Find returns the present targets of a backend. Other fields of the backend are not resolved
// again.
func Find(c *classSpec, b routing.Backend, now Objects) Found {
	ref := ReferenceTo(b.Service, b.Port, b.TargetType)
	ref.NodeLabels, ref.Family = b.NodeLabels, b.Family
	r := Resolve(c, ref, now)
	out := Found{
		Targets: r.Backend.Targets, Awaited: r.awaited, Doubted: r.doubted, Disputed: r.disputed,
	}
	for _, p := range r.Problems {
		if p.Reason == diag.EndpointForeign || p.Reason == diag.TargetPortNotAllowed {
			out.Left += p.Text + "\n"
		}
	}
	return out
}

// ReferenceTo returns a reference to a Service port by its number or name.
func ReferenceTo(service string, port routing.ServicePort, targetType string) Reference {
	ref := Reference{Service: service, PortName: string(port), TargetType: targetType}
	if number, err := strconv.ParseInt(string(port), 10, 32); err == nil {
		ref.PortName, ref.PortNumber = "", int32(number)
	}
	return ref
}
