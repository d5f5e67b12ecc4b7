package ingress

import (
	"fmt"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file finds the hosts that spec.tls lists and that no rule of the Ingress names. On HTTPS
// ports, the rules for a wildcard that covers such a host answer for it, or else the rules without
// a host and the default backend. See "Listed hosts without a rule" in docs/reference/routing.md.

// maxListedRoutes is the most routes of the listed hosts of an Ingress on a port. Each host has the
// routes of the rules that answer for it, so the number is a product. On all ports of the Ingress,
// they and those of its rules are at most mostRoutes.
const maxListedRoutes = 10_000

// mostListedRoutes returns the most routes of the listed hosts of a member on a port.
func mostListedRoutes(m Member) int {
	ports := max(1, len(m.Settings.Ports))
	return max(0, min(maxListedRoutes, mostRoutes/ports-routesOf(m.Ingress)))
}

// listedRules returns the rules that answer for listed hosts, each with the listed host in place of
// its own. The class must allow the listed host, not the rule's own.
func (a hostAllowance) listedRules(m Member, miss routing.HostMiss) ([]HostRule,
	[]diag.Diagnostic) {
	var out []HostRule
	var found []diag.Diagnostic
	done := map[routing.Host]bool{}
	byHost := map[routing.Host][]HostRule{}
	for i, r := range m.Spec.Rules {
		host := routing.Host(r.Host)
		done[host] = true
		byHost[host] = append(byHost[host], HostRule{index: i, Host: host, HTTP: r.HTTP})
	}
	routes, most := 0, mostListedRoutes(m)
	for i, t := range m.Spec.TLS {
		for j, listed := range t.Hosts {
			host := routing.Host(listed)
			if done[host] {
				continue
			}
			done[host] = true
			field := fmt.Sprintf("spec.tls[%d].hosts[%d]", i, j)
			answers := rulesAnswering(host, byHost, m.Spec.DefaultBackend != nil, miss)
			if len(answers) == 0 {
				continue // this is reported as CertificateUnused
			}
			if !a.permits(host) {
				found = append(found, diag.Diagnostic{
					Severity: diag.Error, Reason: diag.HostNotAllowed, Source: m.Source().At(field),
					Message: fmt.Sprintf("the class does not let namespace %s serve host %s", m.Namespace, host),
					Ports:   diag.PortsOf(m.securePorts()...),
				})
				continue
			}
			for k := range answers {
				answers[k].By, answers[k].Host, answers[k].Listed = answers[k].Host, host, field
				routes += routesOfRule(answers[k].HTTP)
			}
			if routes > most {
				return nil, append(found, diag.Diagnostic{
					Severity: diag.Error, Reason: diag.TooComplex, Source: m.Source().At(tlsField),
					Message: fmt.Sprintf("the hosts that it lists without a rule, and the paths that answer for "+
						"them, are more than %d routes on each of its %d ports, of which it has %d in all with "+
						"those of its rules, so none of these hosts is served over HTTPS: name them in rules, list "+
						"a wildcard, list no hosts, or listen on fewer ports", most, len(m.Settings.Ports),
						mostRoutes),
					Ports: diag.PortsOf(m.securePorts()...),
				})
			}
			out = append(out, answers...)
		}
	}
	return out, found
}

// rulesAnswering returns the rules of an Ingress that answer for a host that none of them names:
// those for a wildcard that covers it, or else those without a host. A default backend alone is
// like a rule without paths. The rules without a host follow those of the wildcard only if misses
// fall through.
func rulesAnswering(host routing.Host, byHost map[routing.Host][]HostRule, hasDefault bool,
	miss routing.HostMiss) []HostRule {
	var out []HostRule
	if parent, ok := host.Parent(); ok && !host.Wildcard() {
		out = append(out, byHost[parent]...)
	}
	if len(out) == 0 || miss == routing.MissFallsThrough {
		out = append(out, byHost[routing.Any]...)
	}
	if len(out) == 0 && hasDefault {
		out = append(out, HostRule{Host: routing.Any})
	}
	return out
}

// permitted returns the rules of a member that the class allows, those for listed hosts last, and
// diagnostics about the others.
func (a hostAllowance) permitted(m Member, miss routing.HostMiss) ([]HostRule, []diag.Diagnostic) {
	rules, found := a.permittedRules(m)
	listed, refused := a.listedRules(m, miss)
	return append(rules, listed...), append(found, refused...)
}
