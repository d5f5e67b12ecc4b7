package hostrules

import (
	"fmt"
	"slices"
	"strconv"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/classes"
	"fairlead.dev/fairlead/model/ingress/members"
	"fairlead.dev/fairlead/model/routing"
)

// This file restricts namespaces to the hosts that the class allows them. A rule for another host
// has no route and no name, so it does not take the host from the namespaces that may serve it.

// An Allowance holds the hosts that the class allows a namespace.
type Allowance struct {
	Everything bool
	hosts      []routing.Host
}

func AllowanceOf(c *classes.Class, namespace map[string]string) Allowance {
	if c.AllowedHosts == nil {
		return Allowance{Everything: true}
	}
	var a Allowance
	for _, entry := range c.AllowedHosts {
		if !classes.Selects(&entry.NamespaceSelector, namespace) {
			continue
		}
		for _, h := range entry.Hosts {
			a.Everything = a.Everything || h == classes.AnyHost
			a.hosts = append(a.hosts, routing.Host(h))
		}
	}
	return a
}

func (a Allowance) Permits(h routing.Host) bool {
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

// Grants reports whether the class grants this very host, and not only a wildcard above it.
func (a Allowance) Grants(h routing.Host) bool { return slices.Contains(a.hosts, h) }

// A Rule is a rule of an Ingress that its namespace may have.
type Rule struct {
	index int
	Host  routing.Host
	HTTP  *networkingv1.HTTPIngressRuleValue // nil: it only names the host

	// listed is where spec.tls lists the host, if the rule is for another one, by, and answers for it.
	Listed string
	By     routing.Host
	// below says of a listed host that a wildcard of another namespace stands for it.
	Below bool
}

func (r Rule) Field() string { return "spec.rules[" + strconv.Itoa(r.index) + "]" }

// NamedBy is the field that names the host.
func (r Rule) NamedBy() string {
	if r.Listed != "" {
		return r.Listed
	}
	return r.Field() + ".host"
}

// Listing is how the routes and the name of a rule say whether its host is only listed.
func (r Rule) Listing() *routing.Listed {
	if r.Listed == "" {
		return nil
	}
	return &routing.Listed{By: r.By}
}

// Leaves reports whether anything is left of an Ingress of which these rules are permitted.
func (a Allowance) Leaves(m members.Member, permitted []Rule) bool {
	return a.Everything || len(permitted) > 0 || m.Spec.DefaultBackend != nil && a.Permits(routing.Any)
}

func (a Allowance) permittedRules(m members.Member) ([]Rule, []diag.Diagnostic) {
	var rules []Rule
	var found []diag.Diagnostic
	for i, r := range m.Spec.Rules {
		allowed := Rule{index: i, Host: routing.Host(r.Host), HTTP: r.HTTP}
		if a.Permits(allowed.Host) {
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

// NotForAnyHost says that a default backend is for no hosts but those of its Ingress.
func NotForAnyHost(m members.Member) string {
	return fmt.Sprintf("the class does not let namespace %s answer for hosts that no rule names",
		m.Namespace)
}

// HostsOf are the hosts of rules, each once, with Any among them if there is more for any host.
func HostsOf(rules []Rule, forAnyHost bool) []routing.Host {
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
