package controllers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file is what an Ingress's status says of where it is reached.

// A reach is where all members of a load balancer are reached.
type reach struct {
	address lb.Address
	// ports are those on which something of an owner is served.
	ports map[routing.Owner][]int32
	// problems are why hosts of Ingresses are left out of their HTTPS ports.
	problems map[diag.Source]diag.Reason
}

func newReach(address lb.Address, built model.Built) reach {
	out := reach{address: address, ports: map[routing.Owner][]int32{}, problems: map[diag.Source]diag.Reason{}}
	for _, r := range built.Table.Routes {
		out.ports[r.Owner] = append(out.ports[r.Owner], r.Ports...)
	}
	for _, d := range built.Table.Defaults {
		out.ports[d.Owner] = append(out.ports[d.Owner], d.Ports...)
	}
	for _, n := range built.Table.Names {
		out.ports[n.Owner] = append(out.ports[n.Owner], n.Ports...)
	}
	for _, d := range built.Diagnostics {
		source := d.Source.At("")
		about := slices.Contains([]diag.Reason{diag.CertificateMissing, diag.CertificateInvalid, diag.CertificateRefused}, d.Reason)
		if about && d.Severity == diag.Error && out.problems[source] == "" {
			out.problems[source] = d.Reason
		}
	}
	return out
}

// statusOf is the status of a member: the address, and its ports with what keeps some of its hosts
// from being served there.
func (r reach) statusOf(m ingress.Member) []networkingv1.IngressLoadBalancerIngress {
	problem, ports, secure := r.problems[m.Source()], slices.Clone(r.ports[m.Owner]), m.SecurePorts()
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
	entry := networkingv1.IngressLoadBalancerIngress{Hostname: r.address.Hostname, Ports: statuses}
	if len(r.address.IPs) == 0 {
		return []networkingv1.IngressLoadBalancerIngress{entry}
	}
	var out []networkingv1.IngressLoadBalancerIngress
	for _, ip := range r.address.IPs {
		entry.IP = ip
		out = append(out, entry)
	}
	return out
}

// without is a status without the entries that have one of some addresses, which are a load balancer's.
func without(entries []networkingv1.IngressLoadBalancerIngress, addresses []string) []networkingv1.IngressLoadBalancerIngress {
	return slices.DeleteFunc(slices.Clone(entries), func(e networkingv1.IngressLoadBalancerIngress) bool {
		return e.Hostname != "" && slices.Contains(addresses, e.Hostname) || e.Hostname == "" && e.IP != "" && slices.Contains(addresses, e.IP)
	})
}
