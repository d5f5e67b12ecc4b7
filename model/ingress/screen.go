package ingress

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file leaves out the endpoints that must not be targets, though an EndpointSlice lists them. The author of an
// EndpointSlice can write any address and any port there.

// A screening is the endpoints of a Service port that may be targets, and what is to be said of the others.
type screening struct {
	class   *Class
	backend routing.Backend
	passed  sliceList
	never   []string // addresses that are never targets
	kind    string   // of the first of these
	ports   []int32  // that the class does not allow
}

// screen goes through the endpoints of a Service port.
func (c *Class) screen(b Behind, port *corev1.ServicePort, backend routing.Backend) screening {
	s := screening{class: c, backend: backend}
	for _, slice := range b.Slices {
		number := numberOf(slice, port)
		if number == 0 || familyOfSlice(slice) != backend.Family || len(slice.Endpoints) == 0 {
			continue
		}
		if backend.TargetType != v1alpha1.TargetTypeInstance && !c.allowsPort(number) {
			s.ports = append(s.ports, number)
			continue
		}
		s.passed = append(s.passed, s.sift(slice))
	}
	return s
}

// sift is an EndpointSlice without the endpoints that must not be targets.
func (s *screening) sift(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	strange := func(e discoveryv1.Endpoint) bool { return len(e.Addresses) > 0 && neverTarget(e.Addresses[0]) != "" }
	if !slices.ContainsFunc(slice.Endpoints, strange) {
		return slice
	}
	sifted := *slice
	sifted.Endpoints = nil
	for _, e := range slice.Endpoints {
		if strange(e) {
			s.never, s.kind = append(s.never, e.Addresses[0]), cmp.Or(s.kind, neverTarget(e.Addresses[0]))
			continue
		}
		sifted.Endpoints = append(sifted.Endpoints, e)
	}
	return &sifted
}

// tell says what was left out.
func (s *screening) tell(r *resolution) {
	if n := len(s.never); n > 0 {
		r.tell(diag.Warning, diag.EndpointForeign, fmt.Sprintf("Service %s has %s, which %s: %s is %s, and addresses of that kind are never targets",
			s.backend.Service, counted(n, "endpoint"), leftOut(n), diag.Cut(s.never[0]), s.kind))
	}
	if len(s.ports) > 0 {
		r.tell(diag.Error, diag.TargetPortNotAllowed, fmt.Sprintf("Service %s has endpoints on port %d, which are left out: %s",
			s.backend.Service, slices.Min(s.ports), s.class.notAllowed()))
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "an " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func leftOut(n int) string {
	if n == 1 {
		return "is left out"
	}
	return "are left out"
}
