package ingress

import (
	"fmt"
	"strconv"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
	"fairlead.dev/fairlead/model/settings"
)

// This file refuses Ingresses whose globs and regular expressions take too many steps to be
// compared, and those with too many routes or Secrets. Each Ingress is counted alone, so others
// cannot cause its refusal.

const (
	// mostSteps is the most steps of the globs and regular expressions of an Ingress. A usual one
	// takes a few hundred.
	mostSteps = language.MostSteps
	// longestExpression is the most characters of a regular expression. A class of three characters
	// can be more than a thousand ranges.
	longestExpression = 2048
	// mostRoutes is the most routes of the rules of an Ingress on all of its ports.
	mostRoutes = 20_000
	// mostPairs is the most pairs of a glob or regular expression and a route of an Ingress, on all of
	// its ports: each pair may be compared.
	mostPairs = 2_000_000
	// mostSecrets is the most Secrets that spec.tls names. The record has an entry for each.
	mostSecrets = 500
)

// routesOf returns the number of routes of an Ingress on one port. A rule without paths names its
// host on every port, so it counts as one.
func routesOf(ing *networkingv1.Ingress) int {
	n := 0
	for _, r := range ing.Spec.Rules {
		n += routesOfRule(r.HTTP)
	}
	return n
}

// routesOfRule returns the number of routes of a rule on a port: its paths, or one if it has none.
func routesOfRule(http *networkingv1.HTTPIngressRuleValue) int {
	if http == nil {
		return 1
	}
	return max(1, len(http.Paths))
}

// secretsOf returns the number of Secrets with certificates that an Ingress names.
func secretsOf(ing *networkingv1.Ingress) int {
	names := map[string]bool{}
	for _, t := range ing.Spec.TLS {
		if t.SecretName != "" {
			names[t.SecretName] = true
		}
	}
	return len(names)
}

// tooComplex returns the refusal of an Ingress that exceeds a limit, or nil.
func tooComplex(ing *networkingv1.Ingress, s settings.Values) *diag.Diagnostic {
	if routes := routesOf(ing) * len(s.Ports); routes > mostRoutes {
		return &diag.Diagnostic{Severity: diag.Error, Reason: diag.TooComplex,
			Source: sourceOfIngress(ing).At("spec.rules"),
			Message: fmt.Sprintf("its rules and their paths on each of its %d ports are %d routes, and "+
				"more than %d are not served: have fewer paths, have fewer rules without paths, or listen on "+
				"fewer ports", len(s.Ports), routes, mostRoutes)}
	}
	if secrets := secretsOf(ing); secrets > mostSecrets {
		return &diag.Diagnostic{Severity: diag.Error, Reason: diag.TooComplex,
			Source: sourceOfIngress(ing).At(tlsField),
			Message: fmt.Sprintf("its entries name %d Secrets, and more than %d are not served: have "+
				"certificates for several hosts or for wildcards, or divide the hosts among several Ingresses",
				secrets, mostSecrets)}
	}
	var worst routing.Path
	var field string
	sum, most := 0, 0
	counted := map[routing.Path]bool{}
	for i, rule := range ing.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for j := range rule.HTTP.Paths {
			path := readPath(&rule.HTTP.Paths[j], &s)
			if path.Type != routing.Glob && path.Type != routing.Regex || counted[path] {
				continue
			}
			counted[path] = true
			steps := stepsOf(path)
			sum += steps
			if steps > most {
				most, worst, field = steps, path, "spec.rules["+strconv.Itoa(i)+"].http.paths["+strconv.Itoa(
					j)+"].path"
			}
			if sum > mostSteps {
				return &diag.Diagnostic{Severity: diag.Error, Reason: diag.TooComplex,
					Source:  sourceOfIngress(ing).At(field),
					Message: describeComplexity(worst, most, len(counted))}
			}
		}
	}
	if pairs := len(counted) * routesOf(ing) * max(1, len(s.Ports)); pairs > mostPairs {
		return &diag.Diagnostic{Severity: diag.Error, Reason: diag.TooComplex,
			Source: sourceOfIngress(ing).At("spec.rules"),
			Message: fmt.Sprintf("its %d globs or regular expressions are beside its paths %d times on "+
				"all of its ports, and more than %d are not compared: have fewer of them, have fewer paths, "+
				"or listen on fewer ports", len(counted), pairs, mostPairs)}
	}
	return nil
}

// describeComplexity returns a message with the path that takes the most steps, and a remedy.
func describeComplexity(worst routing.Path, steps, paths int) string {
	kind, advice := "glob", `write fewer "?" behind a "*", or use the type Prefix or Exact`
	if worst.Type == routing.Regex {
		kind, advice = "regular expression", "write it shorter, with fewer repetitions that are "+
			"counted or that follow others, or use the type Prefix or Exact"
	}
	value := printable.Word(diag.Cut(worst.Value))
	if steps > mostSteps {
		return fmt.Sprintf("comparing the %s %s with other paths takes more than the %d steps that an "+
			"Ingress has: %s", kind, value, mostSteps, advice)
	}
	return fmt.Sprintf("comparing its paths takes more than the %d steps that an Ingress has, those "+
		"of %d globs or regular expressions: the %s %s alone takes %d: %s, or have fewer such paths",
		mostSteps, paths, kind, value, steps, advice)
}

// stepsOf returns the number of steps of a glob or a regular expression, without comparisons.
func stepsOf(p routing.Path) int {
	if p.Type == routing.Regex && len(p.Value) > longestExpression {
		return mostSteps + 1
	}
	return language.StepsOf(p)
}
