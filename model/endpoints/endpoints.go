// Package endpoints finds the targets of a Service port: addresses of Pods, or nodes with a node
// port. It leaves out the endpoints that must not be targets, whatever an EndpointSlice says.
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

// Objects are a Service and the objects in which its targets are found.
type Objects struct {
	Service *corev1.Service // nil if there is none
	Slices  SliceList
	Nodes   []*corev1.Node // where targets are instances
	Pods    []*corev1.Pod  // of endpoints, as far as they are known
	// PodsKnown and Awaited are as in Objects.
	PodsKnown bool
	Awaited   map[Claim]bool
}

// SliceList is the EndpointSlices of one Service.
type SliceList []*discoveryv1.EndpointSlice

// Targets are the endpoints of a port, sorted, each once.
func (l SliceList) Targets(port *corev1.ServicePort, family string) []routing.Target {
	var out []routing.Target
	for _, e := range l.usable(port, family) {
		out = append(out, routing.Target{Address: e.Addresses[0], Port: e.number}) // the API gives further addresses no meaning
	}
	return sortedTargets(out)
}

// A usableEndpoint is one that requests may be sent to, and the number of its port.
type usableEndpoint struct {
	discoveryv1.Endpoint
	number int32
}

// usable are the ready endpoints of a port. Endpoints that are about to go count only where there
// are no others, and as long as they serve: late answers are better than none.
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
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Instance, b.Instance))
	})
	return slices.Compact(targets)
}

// HasNoEndpoints reports whether a Service is gone, or no endpoint of it is listed.
func (b Objects) HasNoEndpoints() bool {
	return b.Service == nil || !slices.ContainsFunc(b.Slices, func(s *discoveryv1.EndpointSlice) bool { return len(s.Endpoints) > 0 })
}

// HasUnreadyEndpoints reports whether endpoints are listed that cannot be sent requests yet.
func (b Objects) HasUnreadyEndpoints() bool {
	return slices.ContainsFunc(b.Slices, func(s *discoveryv1.EndpointSlice) bool {
		return slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return IsUnready(e) && !b.waits(s, e) })
	})
}

// IsUnready reports whether an endpoint is not ready, though it is to stay.
func IsUnready(e discoveryv1.Endpoint) bool { return !isReady(e) && !isTerminating(e) }

// isReady is the API's reading: what is not known counts as ready. Where a Service publishes
// addresses that are not ready, all of its endpoints are, those that terminate included.
func isReady(e discoveryv1.Endpoint) bool {
	return e.Conditions.Ready == nil || *e.Conditions.Ready
}

// isServing is readiness as it would be if the endpoint stayed, which is never ready once it
// terminates.
func isServing(e discoveryv1.Endpoint) bool {
	return isReady(e) || e.Conditions.Serving != nil && *e.Conditions.Serving
}

func isTerminating(e discoveryv1.Endpoint) bool {
	return e.Conditions.Terminating != nil && *e.Conditions.Terminating
}

// numberOf is the number that the endpoints of a slice serve a Service port on, or 0. They are
// matched by name, since the numbers of pods need not be those of the Service.
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

// Found is what is found behind a backend.
type Found struct {
	Targets []routing.Target
	// Awaited are targets that may stay if they are there, until their Pods have been seen or it is
	// sure that they have none.
	Awaited []routing.Target
	// Doubted says that the Pods of endpoints may be seen yet, and Disputed that there are no nodes
	// because they would pass requests on to endpoints that are not, or may not be, Pods of the
	// namespace.
	Doubted, Disputed bool
	// Left says what is left out of the targets, and why; "" if nothing is.
	Left string
}

// Find finds the targets of a backend as they are now. All else of the backend stays as it was when
// it was made.
func Find(c *classSpec, b routing.Backend, now Objects) Found {
	ref := Reference{Service: b.Service, PortName: string(b.Port), TargetType: b.TargetType}
	if number, err := strconv.ParseInt(string(b.Port), 10, 32); err == nil {
		ref.PortName, ref.PortNumber = "", int32(number)
	}
	r := Resolve(c, ref, now)
	out := Found{Targets: r.Backend.Targets, Awaited: r.awaited, Doubted: r.doubted, Disputed: r.disputed}
	for _, p := range r.Problems {
		if p.Reason == diag.EndpointForeign || p.Reason == diag.TargetPortNotAllowed {
			out.Left += p.Text + "\n"
		}
	}
	return out
}
