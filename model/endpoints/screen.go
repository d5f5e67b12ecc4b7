package endpoints

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file leaves out endpoints of an EndpointSlice that must not be targets. The author of an
// EndpointSlice can write any address and any port there.

// A screening has the endpoints of a Service port that may be targets, and the reasons why others
// may not.
type screening struct {
	class   *classSpec
	backend routing.Backend
	behind  Objects
	pods    map[string]*corev1.Pod // by name
	passed  SliceList
	awaited []routing.Target // whose Pods may become known later
	doubted bool             // whether there are such endpoints
	never   []string         // addresses that are never targets
	kind    string           // of the first of these
	foreign []string         // addresses that no Pod of the namespace has
	why     string           // of the first of these
	blind   int              // endpoints that could not be compared with Pods
	ports   []int32          // ports that the class does not allow
}

// screen decides for each endpoint of a Service port whether it may be a target.
func screen(c *classSpec, b Objects, port *corev1.ServicePort, backend routing.Backend) *screening {
	s := &screening{
		class: c, backend: backend, behind: b, pods: make(map[string]*corev1.Pod, len(b.Pods)),
	}
	for _, p := range b.Pods {
		s.pods[p.Name] = p
	}
	for _, slice := range b.Slices {
		number := numberOf(slice, port)
		if number == 0 || familyOfSlice(slice) != backend.Family || len(slice.Endpoints) == 0 {
			continue
		}
		if !s.onNodes() && !settings.AllowsTargetPort(c, number) {
			s.ports = append(s.ports, number)
			continue
		}
		s.passed = append(s.passed, s.sift(slice, number))
	}
	return s
}

// onNodes reports whether requests are sent to nodes, which pass them on to any endpoint.
func (s *screening) onNodes() bool { return s.backend.TargetType == v1alpha1.TargetTypeInstance }

// sift returns an EndpointSlice without endpoints that must not be targets.
func (s *screening) sift(slice *discoveryv1.EndpointSlice,
	number int32) *discoveryv1.EndpointSlice {
	out := make([]discoveryv1.Endpoint, 0, len(slice.Endpoints))
	for _, e := range slice.Endpoints {
		if len(e.Addresses) > 0 && s.passes(slice, e, number) {
			out = append(out, e)
		}
	}
	if len(out) == len(slice.Endpoints) {
		return slice
	}
	sifted := *slice
	sifted.Endpoints = out
	return &sifted
}

// passes reports whether an endpoint may be a target, and records why it may not.
func (s *screening) passes(slice *discoveryv1.EndpointSlice, e discoveryv1.Endpoint,
	number int32) bool {
	address := e.Addresses[0]
	if s.onNodes() && !isServing(e) { // nodes pass no requests on to it
		return true
	}
	if kind := NeverTarget(address); kind != "" {
		s.never, s.kind = append(s.never, address), cmp.Or(s.kind, kind)
		return false
	}
	if s.class.ForeignEndpoints {
		return true
	}
	claim, claims := claimOf(slice, e)
	pod := s.pods[claim.Pod]
	switch {
	case !claims:
		return s.isForeign(address, "it names none")
	case pod == nil && !s.behind.PodsKnown:
		s.blind++
		return true
	case pod != nil && ConfirmsAddress(pod, slice, e):
		return true
	case s.behind.Awaited[claim]:
		s.doubted = true
		if isServing(e) && !s.onNodes() {
			s.awaited = append(s.awaited, routing.Target{Address: address, Port: number})
		}
		return false
	case pod == nil || !isOf(slice, e, pod):
		return s.isForeign(address, fmt.Sprintf("there is no Pod %s", diag.Cut(claim.Pod)))
	case Ended(pod):
		return s.isForeign(address, fmt.Sprintf("Pod %s has ended", pod.Name))
	}
	return s.isForeign(address, fmt.Sprintf("Pod %s does not have it", pod.Name))
}

func (s *screening) isForeign(address, why string) bool {
	s.foreign, s.why = append(s.foreign, address), cmp.Or(s.why, why)
	return false
}

// refused returns the number of endpoints that must not be targets.
func (s *screening) refused() int { return len(s.never) + len(s.foreign) }

// tell adds problems about the endpoints that are left out.
func (s *screening) tell(r *Resolution) {
	severity, consequence := diag.Warning, ""
	if s.onNodes() {
		severity, consequence = diag.Error,
			"; nodes would pass requests on to it, so nothing is sent to the Service"
	}
	if n := len(s.never); n > 0 {
		r.AddProblem(severity, diag.EndpointForeign,
			fmt.Sprintf("Service %s has %s left out: %s is %s, and addresses of that kind are "+
				"never targets%s",
				s.backend.Service, counted(n), diag.Cut(s.never[0]), s.kind, consequence))
	}
	if n := len(s.foreign); n > 0 {
		r.AddProblem(severity, diag.EndpointForeign,
			fmt.Sprintf("Service %s has %s left out: %s is not the address of a Pod of its namespace "+
				"(%s), and the class does not say `foreignEndpoints: true`%s",
				s.backend.Service, counted(n), diag.Cut(s.foreign[0]), s.why, consequence))
	}
	if len(s.ports) > 0 {
		r.AddProblem(diag.Error, diag.TargetPortNotAllowed,
			fmt.Sprintf("Service %s has endpoints on port %d, which are left out: %s",
				s.backend.Service, slices.Min(s.ports), settings.DescribeTargetPorts(s.class)))
	}
	r.Unverified = s.blind > 0
}

// counted describes a number of endpoints.
func counted(n int) string {
	if n == 1 {
		return "an endpoint that is"
	}
	return fmt.Sprintf("%d endpoints that are", n)
}
