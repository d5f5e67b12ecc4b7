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
	// targetType is that of its targets; "" for that of the class.
	targetType string
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
	return append([]kind{
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
		{id: "regex", title: "a regular expression for the path decides", routes: []route{
			{"", "ImplementationSpecific", "/regex/[a-c]+[0-9]", "regex"},
			{"", "Prefix", "/regex", "regex-else"},
		}},
		// All IPv4 addresses, and those of IPv6: a range of all of them is refused by some clouds.
		conditional("source", "a condition on the client's address lets its clients through",
			`"source": ["0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"]`),
		// https://www.rfc-editor.org/rfc/rfc5737: no client has such an address.
		conditional("other-source", "a condition on the client's address keeps other clients away",
			`"source": ["192.0.2.0/24"]`),
		{id: "rewrite", title: "a rewrite changes the path that targets get",
			routes: []route{{"", "Exact", "/rewrite", ""}},
			backend: "services: [{name: rewrite-to, port: {number: 80}}]\n" +
				"  rewrite: {url: {pattern: ^/rewrite, replacement: /rewritten}}"},
		{id: "sticky", title: "a client stays with the Service that answered it first",
			routes: []route{{"", "Exact", "/sticky", ""}},
			backend: "services: [{name: sticky-one, port: {number: 80}, weight: 1}, " +
				"{name: sticky-two, port: {number: 80}, weight: 1}]\n" +
				"  stickiness: {durationSeconds: 60}"},
	}, append(signInKinds(c), instanceKinds(c)...)...)
}

// signInKinds returns the kind with a sign-in by OIDC; none for a cloud that has no sign-in.
func signInKinds(c lb.Capabilities) []kind {
	if !c.Auth {
		return nil
	}
	return []kind{
		{id: signInKind, title: "a client that is not signed in is sent to the identity provider",
			ports: "HTTPS:443", tls: true,
			routes: []route{{"sign-in.secure.example", "Prefix", "/", ""}},
			backend: "services: [{name: signed-in, port: {number: 80}}]\n" +
				"  authenticate: {oidc: {issuer: " + identity + ", authorizationEndpoint: " + identity +
				"/authorize, tokenEndpoint: " + identity + "/token, userInfoEndpoint: " + identity +
				"/user, secretName: check-client}}"},
	}
}

// signInKind is the kind that a provider with sign-in may reject: it need not have OIDC.
const signInKind = "sign-in"

// identity is an identity provider that is not asked.
const identity = "https://identity.check.example"

const clientYAML = `---
apiVersion: v1
kind: Secret
metadata: {namespace: %s, name: check-client}
stringData: {clientID: check, clientSecret: check}
`

// instanceKinds returns the kind with targets of type instance. Where a cloud has IDs of its own for
// instances, this machine has none.
func instanceKinds(c lb.Capabilities) []kind {
	if c.InstanceIDs {
		return nil
	}
	return []kind{{id: "instance", title: "targets of type instance get requests at their node ports",
		routes:     []route{{"", "Exact", "/instance", "instance"}},
		targetType: string(lb.InstanceTarget)}}
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
spec: {provider: %s, implementationSpecific: Regex, targetType: %s, healthCheck: {path: %s}}
`

// ofBackends are the Services of Backends.
var ofBackends = []string{"weight-one", "weight-two", "rewrite-to", "sticky-one", "sticky-two", "signed-in"}

// manifestsOf returns the objects of kinds in a namespace. The settings are spec.provider, as JSON.
func manifestsOf(kinds []kind, c lb.Capabilities, namespace, settings string) string {
	targets := "ip"
	if slices.Contains(c.TargetTypesRefused, targets) {
		targets = lb.InstanceTarget
	}
	out := fmt.Sprintf(classYAML, cmp.Or(settings, "null"), targets, healthPath(namespace))
	out += fmt.Sprintf(clientYAML, namespace)
	services := map[string]bool{}
	for _, name := range ofBackends {
		services[name] = true
	}
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
			out += object("v1", "Service", namespace, name, "type: NodePort\n  ports: [{port: 80}]")
		}
	}
	return out
}

// healthPath is where the targets of a check are asked whether they are healthy.
func healthPath(namespace string) string { return "/" + namespace }

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
		rules = append(rules, fmt.Sprintf("{%shttp: {paths: [{path: %q, pathType: %s, backend: {%s}}]}}",
			host, r.path, r.pathType, backend))
		hosts = append(hosts, fmt.Sprintf("{hosts: [%q], secretName: %s}", r.host, cmp.Or(r.service, k.id)))
	}
	spec := "ingressClassName: " + className + "\n  rules: [" + strings.Join(rules, ", ") + "]"
	if k.tls {
		spec += "\n  tls: [" + strings.Join(hosts, ", ") + "]"
	}
	text := object("networking.k8s.io/v1", "Ingress", namespace, k.id, spec) +
		"  annotations:\n    fairlead.dev/group: traffic\n" +
		"    fairlead.dev/listen-ports: " + cmp.Or(k.ports, "HTTP:80") + "\n"
	if k.targetType != "" {
		text += "    fairlead.dev/target-type: " + k.targetType + "\n"
	}
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
