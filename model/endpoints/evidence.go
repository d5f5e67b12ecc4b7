package endpoints

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// This file finds out whether an endpoint is a Pod of its namespace. The author of an EndpointSlice
// can write any address there; the status of a Pod is written by the kubelet of its node. See
// docs/contributing/decisions/0019.

// SameTargets reports whether two classes allow the same endpoints to be targets.
func SameTargets(a, b *classSpec) bool {
	return a.ForeignEndpoints == b.ForeignEndpoints && slices.Equal(a.TargetPorts, b.TargetPorts)
}

// A Claim is the statement of an EndpointSlice that a Pod of its namespace has an address.
type Claim struct{ Namespace, Pod, Address string }

// Claims returns the claims of an EndpointSlice, each with its endpoint. Endpoints without a Pod
// have none.
func Claims(s *discoveryv1.EndpointSlice) func(yield func(Claim, discoveryv1.Endpoint) bool) {
	return func(yield func(Claim, discoveryv1.Endpoint) bool) {
		for _, e := range s.Endpoints {
			if c, ok := claimOf(s, e); ok && !yield(c, e) {
				return
			}
		}
	}
}

func claimOf(s *discoveryv1.EndpointSlice, e discoveryv1.Endpoint) (Claim, bool) {
	pod := PodOf(s, e)
	if pod == "" || len(e.Addresses) == 0 {
		return Claim{}, false
	}
	return Claim{s.Namespace, pod, e.Addresses[0]}, true
}

// PodOf returns the name of the Pod that an endpoint names; "" if it names none of its namespace.
func PodOf(s *discoveryv1.EndpointSlice, e discoveryv1.Endpoint) string {
	to := e.TargetRef
	if to == nil || to.Kind != "Pod" || to.Namespace != "" && to.Namespace != s.Namespace {
		return ""
	}
	return to.Name
}

// ConfirmsAddress reports whether a Pod has the address of an endpoint that names it. A Pod that
// has ended does not count: its status keeps the address, which another Pod may have now.
func ConfirmsAddress(p *corev1.Pod, s *discoveryv1.EndpointSlice, e discoveryv1.Endpoint) bool {
	return isOf(s, e, p) && len(e.Addresses) > 0 && !Ended(p) && hasAddress(p, e.Addresses[0])
}

// Ended reports whether all containers of a Pod have ended for good.
func Ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// hasAddress reports whether a Pod has an address.
func hasAddress(p *corev1.Pod, address string) bool {
	want, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(p.Status.PodIPs, func(ip corev1.PodIP) bool {
		has, err := netip.ParseAddr(ip.IP)
		return err == nil && has == want
	})
}

// HaveAddresses reports whether Pods have addresses in their status, as Pods of a cluster have,
// unlike those of manifests.
func HaveAddresses(pods []*corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return len(p.Status.PodIPs) > 0 })
}
