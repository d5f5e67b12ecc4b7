package ingress

import (
	"fmt"
	"slices"
	"strconv"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file restricts namespaces to the hosts that the class allows them. A rule for another host
// has no route and no name, so it does not take the host from the namespaces that may serve it.

// A hostAllowance holds the hosts that the class allows a namespace.
type hostAllowance struct {
	Everything bool
	hosts      []routing.Host
}

func allowanceOf(c *Class, namespace map[string]string) hostAllowance {
	if c.AllowedHosts == nil {
		return hostAllowance{Everything: true}
	}
	var a hostAllowance
	for _, entry := range c.AllowedHosts {
		if !selects(&entry.NamespaceSelector, namespace) {
			continue
		}
		for _, h := range entry.Hosts {
			a.Everything = a.Everything || h == anyHost
			a.hosts = append(a.hosts, routing.Host(h))
		}
	}
	return a
}

func (a hostAllowance) permits(h routing.Host) bool {
	if a.Everything {
		return true
	}
	for _, allowed := range a.hosts {
		if allowed.Covers(h) {
			return true
		}
	}
	return false
}

// grants reports whether the class grants the host itself, and not only a wildcard that covers it.
func (a hostAllowance) grants(h routing.Host) bool { return slices.Contains(a.hosts, h) }

// A HostRule is a permitted rule of an Ingress.
type HostRule struct {
	index int
	Host  routing.Host
	HTTP  *networkingv1.HTTPIngressRuleValue // nil: it only names the host

	// Listed is the field of spec.tls that lists Host, if the rule is for another host, By.
	Listed string
	By     routing.Host
	// Below is set for a listed host that a wildcard of another namespace covers.
	Below bool
}

func (r HostRule) Field() string { return "spec.rules[" + strconv.Itoa(r.index) + "]" }

// spelt returns the host of the rule itself.
func (r HostRule) spelt() routing.Host {
	if r.Listed != "" {
		return r.By
	}
	return r.Host
}

// namedBy returns the field that names the host.
func (r HostRule) namedBy() string {
	if r.Listed != "" {
		return r.Listed
	}
	return r.Field() + ".host"
}

// listing returns the Listed of the routes and the name of a rule; nil unless its host is only
// listed.
func (r HostRule) listing() *routing.Listed {
	if r.Listed == "" {
		return nil
	}
	return &routing.Listed{By: r.By}
}

// leaves reports whether an Ingress with these permitted rules has any route.
func (a hostAllowance) leaves(m Member, permitted []HostRule) bool {
	return a.Everything || len(permitted) > 0 || m.Spec.DefaultBackend != nil && a.permits(routing.Any)
}

func (a hostAllowance) permittedRules(m Member) ([]HostRule, []diag.Diagnostic) {
	var rules []HostRule
	var found []diag.Diagnostic
	for i, r := range m.Spec.Rules {
		allowed := HostRule{index: i, Host: routing.Host(r.Host), HTTP: r.HTTP}
		if a.permits(allowed.Host) {
			rules = append(rules, allowed)
			continue
		}
		what := "host " + r.Host
		if r.Host == "" {
			what = "rules without a host"
		}
		found = append(found, diag.Diagnostic{
			Severity: diag.Error, Reason: diag.HostNotAllowed,
			Source:  m.Source().At(allowed.Field() + ".host"),
			Message: fmt.Sprintf("the class does not let namespace %s serve %s", m.Namespace, what),
		})
	}
	return rules, found
}

// notForAnyHost returns the message that a default backend answers for the hosts of its Ingress
// only.
func notForAnyHost(m Member) string {
	return fmt.Sprintf("the class does not let namespace %s answer for hosts that no rule names",
		m.Namespace)
}

// hostsOf returns the hosts of rules without duplicates, with Any if forAnyHost is set.
func hostsOf(rules []HostRule, forAnyHost bool) []routing.Host {
	var hosts []routing.Host
	seen := map[routing.Host]bool{}
	for _, r := range rules {
		if !seen[r.Host] {
			seen[r.Host] = true
			hosts = append(hosts, r.Host)
		}
	}
	if forAnyHost && !seen[routing.Any] {
		hosts = append(hosts, routing.Any)
	}
	return hosts
}
