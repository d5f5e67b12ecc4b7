package ingress

import (
	"fmt"
	"slices"
	"strconv"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file keeps namespaces to the hosts that the class lets them serve. A rule for another host
// neither routes nor names it, so it cannot take the host from whoever may have it.

// An allowance is the hosts that a namespace may serve.
type allowance struct {
	everything bool
	hosts      []routing.Host
}

func allowanceOf(c *Class, namespace map[string]string) allowance {
	if c.AllowedHosts == nil {
		return allowance{everything: true}
	}
	var a allowance
	for _, entry := range c.AllowedHosts {
		if !selects(&entry.NamespaceSelector, namespace) {
			continue
		}
		for _, h := range entry.Hosts {
			a.everything = a.everything || h == anyHost
			a.hosts = append(a.hosts, routing.Host(h))
		}
	}
	return a
}

func (a allowance) permits(h routing.Host) bool {
	if a.everything {
		return true
	}
	for _, allowed := range a.hosts {
		if allowed.Covers(h) {
			return true
		}
	}
	return false
}

// grants reports whether the class grants this very host, and not only a wildcard above it.
func (a allowance) grants(h routing.Host) bool { return slices.Contains(a.hosts, h) }

// A rule is a rule of an Ingress that its namespace may have.
type rule struct {
	index int
	host  routing.Host
	http  *networkingv1.HTTPIngressRuleValue // nil: it only names the host

	// listed is where spec.tls lists the host, if the rule is for another one, by, and answers for it.
	listed string
	by     routing.Host
	// below says of a listed host that a wildcard of another namespace stands for it.
	below bool
}

func (r rule) field() string { return "spec.rules[" + strconv.Itoa(r.index) + "]" }

// named is the field that names the host.
func (r rule) named() string {
	if r.listed != "" {
		return r.listed
	}
	return r.field() + ".host"
}

// listing is how the routes and the name of a rule say whether its host is only listed.
func (r rule) listing() *routing.Listed {
	if r.listed == "" {
		return nil
	}
	return &routing.Listed{By: r.by}
}

// leaves reports whether anything is left of an Ingress of which these rules are permitted.
func (a allowance) leaves(m Member, permitted []rule) bool {
	return a.everything || len(permitted) > 0 || m.Spec.DefaultBackend != nil && a.permits(routing.Any)
}

func (a allowance) permittedRules(m Member) ([]rule, []diag.Diagnostic) {
	var rules []rule
	var found []diag.Diagnostic
	for i, r := range m.Spec.Rules {
		allowed := rule{index: i, host: routing.Host(r.Host), http: r.HTTP}
		if a.permits(allowed.host) {
			rules = append(rules, allowed)
			continue
		}
		what := "host " + r.Host
		if r.Host == "" {
			what = "rules without a host"
		}
		found = append(found, diag.Diagnostic{
			Severity: diag.Error, Reason: diag.HostNotAllowed, Source: m.Source().At(allowed.field() + ".host"),
			Message: fmt.Sprintf("the class does not let namespace %s serve %s", m.Namespace, what),
		})
	}
	return rules, found
}

// notForAnyHost says that a default backend is for no hosts but those of its Ingress.
func notForAnyHost(m Member) string {
	return fmt.Sprintf("the class does not let namespace %s answer for hosts that no rule names", m.Namespace)
}

// hostsOf are the hosts of rules, each once, with Any among them if there is more for any host.
func hostsOf(rules []rule, forAnyHost bool) []routing.Host {
	var hosts []routing.Host
	seen := map[routing.Host]bool{}
	for _, r := range rules {
		if !seen[r.host] {
			seen[r.host] = true
			hosts = append(hosts, r.host)
		}
	}
	if forAnyHost && !seen[routing.Any] {
		hosts = append(hosts, routing.Any)
	}
	return hosts
}
