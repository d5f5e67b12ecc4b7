package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/model/settings"
)

// This file makes objects at the bounds of the fields of Backends and classes, and just beyond
// them, from the rows of the tables.

// specsOfBackends are valid specs by the paths that they have.
var specsOfBackends = map[string]string{
	"redirect":           `{redirect: {scheme: https, host: a.example, port: "443", path: /a, query: a, statusCode: 302}}`,
	"fixedResponse":      `{fixedResponse: {statusCode: 200, contentType: a, body: a}}`,
	"services":           `{services: [{name: a, port: {number: 80}, weight: 1}, {name: b, port: {number: 80}}]}`,
	"services[].port.na": `{services: [{name: a, port: {name: a}}]}`,
	"stickiness":         `{services: [{name: a, port: {number: 80}}], stickiness: {durationSeconds: 60}}`,
	"rewrite": `{services: [{name: a, port: {number: 80}}], rewrite: {
		url: {pattern: ^/a, replacement: /b}, host: {pattern: ^a, replacement: b}}}`,
	"authenticate.oidc": `{fixedResponse: {statusCode: 200}, authenticate: {oidc: {issuer: "https://a",
		authorizationEndpoint: "https://a", tokenEndpoint: "https://a", userInfoEndpoint: "https://a", secretName: a,
		onUnauthenticatedRequest: deny, scope: a, cookieName: a, timeoutSeconds: 1, parameters: {a: b}}}}`,
	"authenticate.cognito": `{fixedResponse: {statusCode: 200}, authenticate: {cognito: {userPoolARN: "arn:a",
		userPoolClientID: a, userPoolDomain: a,
		onUnauthenticatedRequest: deny, scope: a, cookieName: a, timeoutSeconds: 1, parameters: {a: b}}}}`,
	"services[].targetGroupARN": `{services: [{targetGroupARN: "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/a/0"}]}`,

	"authenticate.jwt": `{fixedResponse: {statusCode: 200}, authenticate: {jwt: {issuer: a, keysEndpoint: "https://a",
		claims: [{name: a, format: single-string, values: [a]}]}}}`,
}

// specsOfClasses are valid specs by the paths that they have.
var specsOfClasses = map[string]string{
	"subnets": `{subnets: [a]}`, "subnetTags": `{subnetTags: {a: b}}`, "securityGroups": `{securityGroups: [a]}`,
	"annotations": `{annotations: [group]}`, "targetPorts": `{targetPorts: ["80"]}`, "tags": `{tags: {a: b}}`,
	"groups":              `{groups: [{name: a, owner: a, namespaceSelector: {}}]}`,
	"allowedTargetGroups": `{allowedTargetGroups: ["arn:*"]}`,
	"targetGroupBindings": `{targetGroupBindings: [{namespaceSelector: {}, targetGroups: ["arn:*"]}]}`,

	"nginx": `{dialect: nginx, nginx: {config: {a: b}, service: {a: b}, changed: Refuse, caseFolding: lower}}`,

	"adoption": `{dialect: alb, adoption: {from: alb, clusterName: a, names: [{stack: a, name: a}], only: [a]}}`,

	"allowedHosts": `{allowedHosts: [{hosts: [a]}]}`, "expectations": `{expectations: {namespace: a, name: a}}`,
	"ports": `{ports: [{port: 443, mutualAuthentication: {mode: verify, trustStore: a}}]}`,
}

// dependent are values within a bound that something else refuses, by path.
var dependent = map[string]string{
	"redirect.port":                     "a long text is no port",
	"annotations":                       "there are not as many annotations",
	"ports[].mutualAuthentication.mode": "only verify goes with a trust store",
}

// atBounds returns specs with the values at the bounds of a table, and beyond them.
func atBounds(t *testing.T, table settings.Fields, specs map[string]string) map[string]verdict {
	out := map[string]verdict{}
	for path, bound := range table {
		base := ""
		for prefix := range specs {
			if strings.HasPrefix(path, prefix) && len(prefix) > len(base) {
				base = prefix
			}
		}
		add := func(want verdict, change func(now any) any) {
			if want == fine && dependent[path] != "" {
				return
			}
			spec := map[string]any{}
			if err := yaml.Unmarshal([]byte(specs[base]), &spec); err != nil {
				t.Fatal(err)
			}
			if !replace(spec, path, change) {
				t.Fatalf("no spec has %s", path)
			}
			text, err := yaml.Marshal(spec)
			if err != nil {
				t.Fatal(err)
			}
			json, err := yaml.YAMLToJSON(text)
			if err != nil {
				t.Fatal(err)
			}
			out[string(json)] = want
		}
		value := func(want verdict, v any) { add(want, func(any) any { return v }) }
		for _, known := range bound.Known {
			value(fine, known)
		}
		for _, known := range bound.Numbers {
			value(fine, known)
		}
		if bound.Known != nil {
			value(refused, "unknown")
		}
		if bound.Numbers != nil {
			value(refused, slices.Max(bound.Numbers)+1)
		}
		if bound.Most > 0 {
			value(fine, bound.Least)
			value(fine, bound.Most)
			value(refused, bound.Most+1)
			below := bound.Least - 1
			if below == 0 {
				below = -1 // 0 says nothing to the compiler
			}
			value(refused, below)
		}
		if bound.Pattern != nil {
			value(refused, " ")
		}
		if bound.Longest > 0 {
			add(fine, func(now any) any { return padded(now, bound.Longest) })
			add(refused, func(now any) any { return padded(now, bound.Longest+1) })
		}
		if bound.MostItems > 0 {
			add(fine, func(now any) any { return enlarged(now, bound.MostItems) })
			add(refused, func(now any) any { return enlarged(now, bound.MostItems+1) })
		}
	}
	return out
}

// replace changes the value at a path: the first item of each list on the way.
func replace(in any, path string, change func(any) any) bool {
	name, rest, nested := strings.Cut(path, ".")
	name, items := strings.CutSuffix(name, "[]")
	object, is := in.(map[string]any)
	switch {
	case !is || object[name] == nil:
		return false
	case items && rest == "":
		list := object[name].([]any)
		list[0] = change(list[0])
		return true
	case items:
		return replace(object[name].([]any)[0], rest, change)
	case nested:
		return replace(object[name], rest, change)
	}
	object[name] = change(object[name])
	return true
}

// padded returns a text with a number of characters.
func padded(text any, length int) string {
	return text.(string) + strings.Repeat("a", length-len(text.(string)))
}

// enlarged returns a list or a map with a number of items, all different.
func enlarged(now any, items int) any {
	if _, is := now.(map[string]any); is {
		out := map[string]any{}
		for i := range items {
			out[fmt.Sprintf("a%d", i)] = "b"
		}
		return out
	}
	first := now.([]any)[0]
	var out []any
	for i := range items {
		switch first := first.(type) {
		case string:
			prefix := strings.TrimSuffix(first, "80") // a port stays one
			out = append(out, fmt.Sprintf("%s%d", prefix, 100+i))
		case map[string]any:
			item := maps.Clone(first)
			if stack, is := item["stack"]; is {
				item["stack"] = fmt.Sprintf("%s%d", stack, i)
			} else if name, is := item["name"]; is {
				item["name"] = fmt.Sprintf("%s%d", name, i)
			} else if _, is := item["port"]; is {
				item["port"] = 443 + i
			}
			out = append(out, item)
		}
	}
	return out
}
