package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// This file has the Ingresses that a provider is checked with.

// A kind is an Ingress with rules of one kind. All kinds share a load balancer. The compiler refuses
// those that the provider's capabilities leave out.
type kind struct {
	id, title string
	ports     string // "" for HTTP:80
	tls       bool   // a Secret of its own for each host
	// conditions are those of the first path, as JSON without braces.
	conditions string
	routes     []route
	backend    string // spec of a Backend with the name of the kind
}

// A route is a path that leads to a Service, or to the Backend if it names none.
type route struct{ host, pathType, path, service string }

// kinds returns an Ingress of each kind.
func kinds(c lb.Capabilities) []kind {
	status := 301
	if len(c.RedirectStatuses) > 0 {
		status = c.RedirectStatuses[0]
	}
	conditional := func(id, title, conditions string) kind {
		return kind{id: id, title: title, conditions: conditions, routes: []route{
			{"", "Prefix", "/" + id, id}, {"", "Prefix", "/" + id, id + "-else"},
		}}
	}
	return []kind{
		{id: "exact", title: "an exact path leads to its Service, and no longer path does",
			routes: []route{{"", "Exact", "/exact", "exact"}, {"", "Prefix", "/exact", "exact-below"}}},
		{id: "prefix", title: "of several prefixes, the longest leads to its Service",
			routes: []route{{"", "Prefix", "/prefix", "prefix"}, {"", "Prefix", "/prefix/long", "longer"}}},
		{id: "host", title: "each host has its own rules", routes: []route{
			{"one.check.example", "Prefix", "/", "host-one"},
			{"two.check.example", "Prefix", "/", "host-two"},
		}},
		{id: "wildcard-host", title: "a wildcard host leads to its Service", routes: []route{
			{"*.check.example", "Prefix", "/", "wildcard-host"},
		}},
		conditional("method", "a condition on the method decides", `"method": ["POST"]`),
		conditional("header", "a condition on a header decides",
			`"header": {"Fairlead-Check": ["yes"]}`),
		conditional("query", "a condition on the query decides", `"query": {"check": ["yes"]}`),
		{id: "redirect", title: "a redirect has its status and its location",
			routes:  []route{{"", "Exact", "/redirect", ""}},
			backend: fmt.Sprintf("redirect: {path: /elsewhere, statusCode: %d}", status)},
		{id: "fixed", title: "a fixed response has its status",
			routes:  []route{{"", "Exact", "/fixed", ""}},
			backend: `fixedResponse: {statusCode: 418}`},
		{id: "weights", title: "each Service with a weight gets requests",
			routes: []route{{"", "Exact", "/weights", ""}},
			backend: "services: [{name: weight-one, port: {number: 80}, weight: 1}, " +
				"{name: weight-two, port: {number: 80}, weight: 1}]"},
		{id: "https", title: "over HTTPS, each host has its certificate and its rules",
			ports: "HTTPS:443", tls: true, routes: []route{
				{"one.secure.example", "Prefix", "/", "https-one"},
				{"two.secure.example", "Prefix", "/", "https-two"},
			}},
	}
}

// className is the class of the Ingresses. It begins the key of their load balancer.
const className = "fairlead-check"

const classYAML = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: ` + className + `}
spec:
  controller: fairlead.dev/ingress
  parameters: {apiGroup: fairlead.dev, kind: ClusterLoadBalancerClass, name: ` + className + `}
---
apiVersion: fairlead.dev/v1alpha1
kind: ClusterLoadBalancerClass
metadata: {name: ` + className + `}
spec: {provider: %s}
`

// manifestsOf returns the objects of kinds in a namespace. The settings are spec.provider, as JSON.
func manifestsOf(kinds []kind, namespace, settings string) string {
	out := fmt.Sprintf(classYAML, cmp.Or(settings, "null"))
	services := map[string]bool{"weight-one": true, "weight-two": true}
	for _, k := range kinds {
		out += k.ingress(namespace)
		for _, r := range k.routes {
			services[r.service] = r.service != ""
		}
		if k.backend != "" {
			out += object("fairlead.dev/v1alpha1", "Backend", namespace, k.id, k.backend)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(services)) {
		if services[name] {
			out += object("v1", "Service", namespace, name, "ports: [{port: 80}]")
		}
	}
	return out
}

// ingress returns the Ingress of a kind.
func (k kind) ingress(namespace string) string {
	var rules, hosts []string
	for _, r := range k.routes {
		backend := fmt.Sprintf("service: {name: %s, port: {number: 80}}", r.service)
		if r.service == "" {
			backend = "resource: {apiGroup: fairlead.dev, kind: Backend, name: " + k.id + "}"
		}
		host := ""
		if r.host != "" {
			host = fmt.Sprintf("host: %q, ", r.host)
		}
		rules = append(rules, fmt.Sprintf("{%shttp: {paths: [{path: %s, pathType: %s, backend: {%s}}]}}",
			host, r.path, r.pathType, backend))
		hosts = append(hosts, fmt.Sprintf("{hosts: [%q], secretName: %s}", r.host, r.service))
	}
	spec := "ingressClassName: " + className + "\n  rules: [" + strings.Join(rules, ", ") + "]"
	if k.tls {
		spec += "\n  tls: [" + strings.Join(hosts, ", ") + "]"
	}
	text := object("networking.k8s.io/v1", "Ingress", namespace, k.id, spec) +
		"  annotations:\n    fairlead.dev/group: traffic\n" +
		"    fairlead.dev/listen-ports: " + cmp.Or(k.ports, "HTTP:80") + "\n"
	if k.conditions != "" {
		text += fmt.Sprintf("    fairlead.dev/conditions: '[{\"backend\": %q, %s}]'\n", k.id, k.conditions)
	}
	return text
}

// object returns an object as YAML. Further lines belong to its metadata.
func object(apiVersion, kind, namespace, name, spec string) string {
	return fmt.Sprintf("---\napiVersion: %s\nkind: %s\nspec:\n  %s\nmetadata:\n  namespace: %s\n"+
		"  name: %s\n", apiVersion, kind, spec, namespace, name)
}
