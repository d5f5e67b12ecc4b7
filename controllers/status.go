package controllers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file is what an Ingress's status says of where it is reached.

// statusOf is the status of a member: the address, and its ports with what keeps some of its hosts
// from being served there.
func statusOf(m ingress.Member, address lb.Address, table *routing.Table, found []diag.Diagnostic) []networkingv1.IngressLoadBalancerIngress {
	problem := certificateProblem(m.Source(), found)
	ports := portsOf(m.Owner, table)
	secure := m.SecurePorts()
	if problem != "" {
		ports = append(ports, secure...)
	}
	slices.Sort(ports)
	var statuses []networkingv1.IngressPortStatus
	for _, port := range slices.Compact(ports) {
		s := networkingv1.IngressPortStatus{Port: port, Protocol: corev1.ProtocolTCP}
		if problem != "" && slices.Contains(secure, port) {
			reason := v1alpha1.Group + "/" + string(problem)
			s.Error = &reason
		}
		statuses = append(statuses, s)
	}
	entry := networkingv1.IngressLoadBalancerIngress{Hostname: address.Hostname, Ports: statuses}
	if len(address.IPs) == 0 {
		return []networkingv1.IngressLoadBalancerIngress{entry}
	}
	var out []networkingv1.IngressLoadBalancerIngress
	for _, ip := range address.IPs {
		entry.IP = ip
		out = append(out, entry)
	}
	return out
}

// portsOf are the ports on which something of an owner is served.
func portsOf(owner routing.Owner, table *routing.Table) []int32 {
	var out []int32
	for _, r := range table.Routes {
		if r.Owner == owner {
			out = append(out, r.Ports...)
		}
	}
	for _, d := range table.Defaults {
		if d.Owner == owner {
			out = append(out, d.Ports...)
		}
	}
	for _, n := range table.Names {
		if n.Owner == owner {
			out = append(out, n.Ports...)
		}
	}
	return out
}

// certificateProblem is why a host of an Ingress is left out of its HTTPS ports, if one is.
func certificateProblem(source diag.Source, found []diag.Diagnostic) diag.Reason {
	for _, d := range found {
		about := d.Source.At("") == source
		if about && d.Severity == diag.Error && (d.Reason == diag.CertificateMissing || d.Reason == diag.CertificateInvalid) {
			return d.Reason
		}
	}
	return ""
}

// withoutAddress is a status without the entries of one load balancer.
func withoutAddress(entries []networkingv1.IngressLoadBalancerIngress, address string) []networkingv1.IngressLoadBalancerIngress {
	return slices.DeleteFunc(slices.Clone(entries), func(e networkingv1.IngressLoadBalancerIngress) bool {
		return address != "" && (e.Hostname == address || e.Hostname == "" && e.IP == address)
	})
}
