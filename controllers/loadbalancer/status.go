package loadbalancer

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file makes the status of Ingresses.

// A reach has the address and the ports of the members of a load balancer.
type reach struct {
	address lb.Address
	// ports are the ports with a route, a default backend or a host of an owner.
	ports map[routing.Owner][]int32
	// answers are the owners with a served route or default backend.
	answers map[routing.Owner]bool
	// problems are the diagnostics about parts of Ingresses that are not served.
	problems map[diag.Source][]diag.Diagnostic
}

// newReach returns the reach of the members of a table, on the open ports.
func newReach(address lb.Address, table *precedence.Table, open func(port int32) bool,
	found []diag.Diagnostic) reach {
	out := reach{
		address: address, ports: map[routing.Owner][]int32{}, answers: map[routing.Owner]bool{},
		problems: map[diag.Source][]diag.Diagnostic{},
	}
	serve := func(owner routing.Owner, ports []int32) {
		for _, port := range ports {
			if open(port) {
				out.ports[owner] = append(out.ports[owner], port)
			}
		}
	}
	for _, r := range table.Routes {
		out.answers[r.Owner] = true
		serve(r.Owner, r.Ports)
	}
	for _, d := range table.Defaults {
		out.answers[d.Owner] = true
		serve(d.Owner, d.Ports)
	}
	for _, n := range table.Names {
		serve(n.Owner, n.Ports)
	}
	for _, d := range found {
		if d.Severity == diag.Error || d.Severity == diag.Warning && d.Ports != "" {
			source := d.Source.At("")
			out.problems[source] = append(out.problems[source], d)
		}
	}
	return out
}

// serves reports whether a member has a served route or default backend. A member without one has
// no address in its status: external-dns would publish it, and Argo CD reports an Ingress with an
// address as healthy (https://argo-cd.readthedocs.io/en/stable/operator-manual/health/, Ingress).
// Events and the LoadBalancer have the reason.
func (r reach) serves(m ingress.Member) bool {
	asksOnlyForNames := m.Spec.DefaultBackend == nil &&
		!slices.ContainsFunc(m.Spec.Rules, func(rule networkingv1.IngressRule) bool {
			return rule.HTTP != nil
		})
	return len(r.ports[m.Owner]) > 0 && (r.answers[m.Owner] || asksOnlyForNames)
}

// statusOf returns the status of a served member: the address, and its ports with their problems.
// It includes ports that the member asks for and does not have, with the reason.
func (r reach) statusOf(m ingress.Member) []networkingv1.IngressLoadBalancerIngress {
	problems := map[int32]diag.Diagnostic{}
	for _, d := range r.problems[m.Source()] {
		ports := d.Ports.List()
		if d.Ports == "" {
			ports = m.AskedPorts()
		}
		for _, port := range ports {
			if before, found := problems[port]; !found || takesPrecedence(d, before) {
				problems[port] = d
			}
		}
	}
	ports := slices.AppendSeq(slices.Clone(r.ports[m.Owner]), maps.Keys(problems))
	slices.Sort(ports)
	var statuses []networkingv1.IngressPortStatus
	for _, port := range slices.Compact(ports) {
		s := networkingv1.IngressPortStatus{Port: port, Protocol: corev1.ProtocolTCP}
		if d, found := problems[port]; found {
			reason := errorOf(d.Reason)
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

// statusOf returns the status of a served member. That of another controller stays as it is where the load balancer was taken
// over from it: it has the ports of all members, and no protocol (updateIngressStatus in
// controllers/ingress/group_controller.go of the AWS Load Balancer Controller), or no ports.
func (o outcome) statusOf(m ingress.Member, r reach) []networkingv1.IngressLoadBalancerIngress {
	entries := r.statusOf(m)
	if ing := o.Snapshot.Actual[m.Owner.String()]; o.Snapshot.Class.Adoption != nil && ing != nil {
		open := func(port int32) bool { return o.Observed.Listener(port) != nil }
		if present := ing.Status.LoadBalancer.Ingress; saysAsMuch(present, entries, open) {
			return present
		}
	}
	return entries
}

// saysAsMuch reports whether a status has the address of another one, and no ports or those of the other one and more that
// are open. A status with a problem says more than others do.
func saysAsMuch(present, wanted []networkingv1.IngressLoadBalancerIngress, open func(port int32) bool) bool {
	if len(present) != 1 || len(wanted) != 1 || present[0].IP != wanted[0].IP || present[0].Hostname != wanted[0].Hostname {
		return false
	}
	has := func(ports []networkingv1.IngressPortStatus, port int32) bool {
		return slices.ContainsFunc(ports, func(p networkingv1.IngressPortStatus) bool { return p.Port == port })
	}
	for _, p := range wanted[0].Ports {
		if p.Error != nil || len(present[0].Ports) > 0 && !has(present[0].Ports, p.Port) {
			return false
		}
	}
	return !slices.ContainsFunc(present[0].Ports, func(p networkingv1.IngressPortStatus) bool {
		return p.Error != nil || !open(p.Port)
	})
}

// errorOf returns a reason in the form that the API asks for: foo.example.com/CamelCase
// (k8s.io/api/networking/v1, IngressPortStatus).
func errorOf(r diag.Reason) string { return v1alpha1.Group + "/" + string(r) }

// takesPrecedence reports whether a port shows a diagnostic rather than an earlier one: an error
// before a warning, and one about some ports before one about all.
func takesPrecedence(d, before diag.Diagnostic) bool {
	if d.Severity != before.Severity {
		return d.Severity == diag.Error
	}
	return d.Ports != "" && before.Ports == ""
}
