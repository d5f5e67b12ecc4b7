package loadbalancer

import (
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file finds the Ingresses that a step may be about. An Ingress does not wait for steps that
// are only about those of other namespaces.

// concernsDeparted reports whether a step may be about the routes of a departed Ingress.
func (o outcome) concernsDeparted(s plan.Planned, departed string) bool {
	version := o.Snapshot.Recorded.Members[departed].LastAccepted
	return version == nil || o.concerns(s, namespaceOf(departed), &version.Spec)
}

// concerns reports whether a step may be about the routes of a version of an Ingress. A step is
// about the Ingresses that ask for it; a rule that goes or changes is about the namespaces of its
// target groups, or without any, about its hosts.
func (o outcome) concerns(
	s plan.Planned, namespace string, version *networkingv1.IngressSpec,
) bool {
	asks := slices.ContainsFunc(s.Origin, func(at diag.Source) bool {
		return at.Namespace == namespace
	})
	var rule *lb.Rule
	switch step := s.Step.(type) {
	case plan.DeleteRule:
		rule = &step.Rule
	case plan.ModifyRule:
		if l := o.Observed.Listener(step.Port); l != nil && l.Rule(step.Priority) != nil {
			rule = &l.Rule(step.Priority).Rule
		}
	case plan.DetachCertificate, plan.ModifyCertificate:
		return false // no route waits for it
	default: // it is about no rule that is there
	}
	switch {
	case asks || rule == nil && len(s.Origin) == 0:
		return true
	case rule == nil:
		return false
	}
	if of := plan.NamespacesOf(*rule); len(of) > 0 {
		return slices.Contains(of, namespace)
	}
	return isForHostsOf(*rule, version)
}

// isForHostsOf reports whether a rule may be for a host that a version of an Ingress names, or for one
// below it. A rule for less specific hosts, or for any, is not: it comes after those of the Ingress.
func isForHostsOf(r lb.Rule, version *networkingv1.IngressSpec) bool {
	hosts := r.Hosts()
	if version.DefaultBackend != nil || len(hosts) == 0 {
		return true
	}
	return slices.ContainsFunc(version.Rules, func(rule networkingv1.IngressRule) bool {
		return slices.ContainsFunc(hosts, func(host routing.Host) bool {
			return strings.ContainsAny(string(host), "[?") || routing.Host(rule.Host).Covers(host)
		})
	})
}
