package limits

import (
	"fmt"
	"strings"
)

// A row is one hostile Ingress, and what plan for an ALB says of it.
type row struct {
	name, manifests, says string
}

// rows are what was found to take most, in memory or in time, before it was bounded. Each is within
// what the API server accepts: 1.5 MiB for an object, and 256 KiB for its annotations. The
// certificates are Secrets of namespace shop: t for *.a.com, other for 2,400 hosts, and wild for
// 2,400 wildcards.
func rows(certificate, other, wild string) []row {
	const specific = "ImplementationSpecific"
	letter := func(i int) string { return string(rune('a' + i%26)) }
	return []row{
		{"one glob of thousands of states", one(host("a.com", times(1, func(i int) string { return path("/*xx????????????y", specific) }))), ""},
		{"8 globs of thousands of states", one(host("a.com", times(8, func(i int) string {
			return path("/*"+letter(i)+letter(i)+"????????????y", specific)
		}))), "TooComplex"},
		{"20 globs of thousands of states", one(host("a.com", times(20, func(i int) string {
			return path(fmt.Sprintf("/*%s%s????????????%s%d", letter(i), letter(i+1), letter(i+2), i%10), specific)
		}))), "TooComplex"},
		{"80 globs with 5 stars", one(host("a.com", times(80, func(i int) string {
			glob := "/"
			for j := range 5 {
				glob += "*" + letter((i*(j+1))%5) + letter((i/(j+1))%5)
			}
			return path(glob, specific)
		}))), ""},
		{"a glob of 100,000 stars", one(host("a.com", path("/"+strings.Repeat("*a", 100_000), specific))), "TooComplex"},
		{"globs before 2,000 prefixes", one(host("a.com", times(40, func(i int) string { return path(fmt.Sprintf("/*/x%d/*", i), specific) })+
			times(2000, func(i int) string { return path(fmt.Sprintf("/a/b%d/c", i), "Prefix") }))), ""},
		{"40 globs without a host before 500 hosts", one(host("", times(40, func(i int) string {
			return path("/*"+letter(i)+"*"+letter(i+3)+"*"+letter(i+5), specific)
		})), times(500, func(i int) string { return host(fmt.Sprintf("h%d.a.com", i), path("/x", "Prefix")) })), ""},

		{"a repeated repetition", regular + one(host("a.com", path("/("+strings.Repeat("x", 1500)+"){1000}", specific))), "TooComplex"},
		{"10 counted repetitions", regular + one(host("a.com", times(10, func(i int) string {
			return path("/"+strings.Repeat("(?:abcdefghijklmnopqrstuvwxyz0123456789){1000}", 8)+letter(i), specific)
		}))), "TooComplex"},
		{"20,000 Unicode classes", regular + one(host("a.com", path("/"+strings.Repeat(`\\pL`, 20_000), specific))), "TooComplex"},
		{"40 expressions of thousands of states", regular + one(host("a.com", times(40, func(i int) string {
			return path(fmt.Sprintf("/.*%s.{%d}%s", letter(i), 10+i, letter(i+3)), specific)
		}))), "TooComplex"},
		{"200 expressions beside 3,000 exact paths", regular + one(host("a.com", times(200, func(i int) string { return path(fmt.Sprintf("/[a-z]+%d/.*", i), specific) })+
			times(3000, func(i int) string { return path(fmt.Sprintf("/a%d/b", i), "Exact") }))), "QuotaExceeded"},

		{"4,000 prefixes", one(host("a.com", times(4000, func(i int) string { return path(fmt.Sprintf("/p%d", i), "Prefix") }))), ""},
		{"10,000 exact paths", one(host("a.com", times(10_000, func(i int) string { return path(fmt.Sprintf("/p%d", i), "Exact") }))), "QuotaExceeded"},
		{"5,000 hosts", one(hosts(5000)), "QuotaExceeded"},
		{"2,000 paths without a host and 3,000 hosts", one(host("", times(2000, func(i int) string { return path(fmt.Sprintf("/q%d", i), "Prefix") })), hosts(3000)), "QuotaExceeded"},
		{"the same, repeated for each host", lessSpecific + strings.Replace(one(host("", times(2000, func(i int) string { return path(fmt.Sprintf("/q%d", i), "Prefix") })), hosts(3000)),
			"spec:\n", "spec:\n  defaultBackend: {service: {name: web, port: {number: 80}}}\n", 1), "QuotaExceeded"},
		{"10,000 paths on 50 ports", annotated("listen-ports", ports(50), times(1000, func(i int) string {
			return host(fmt.Sprintf("h%d.a.com", i), times(10, func(j int) string { return path(fmt.Sprintf("/p%d", j), "Prefix") }))
		})), "TooComplex"},

		{"9,900 listed hosts on 50 ports", listed(certificate, host("", path("/p", "Exact"))), "TooComplex"},
		{"9,900 listed hosts below a wildcard on 50 ports", listed(certificate, host("*.a.com", path("/p", "Exact"))), "TooComplex"},
		{"9,900 listed hosts and a default backend on 50 ports", strings.Replace(listed(certificate), "  rules:\n", "  defaultBackend: {service: {name: web, port: {number: 80}}}\n", 1), "TooComplex"},
		{"9,900 listed hosts beside 9,890 rules on two HTTPS ports", listedOn(`[{"HTTPS":443},{"HTTPS":8443}]`, certificate, host("*.a.com", path("/p", "Exact")),
			times(9890, func(i int) string { return host(fmt.Sprintf("r%d.b.com", i), path("/p", "Exact")) })), "TooComplex"},
		{"9,900 listed hosts on two HTTPS ports", listedOn(`[{"HTTPS":443},{"HTTPS":8443}]`, certificate, host("*.a.com", path("/p", "Exact"))), ""},
		{"30,000 hosts without paths on 50 ports", annotated("listen-ports", ports(50), names(30_000)), "TooComplex"},
		{"5,000 hosts without paths on 50 ports", annotated("listen-ports", ports(50), names(5000)), "TooComplex"},
		{"60,000 hosts without paths", one(names(60_000)), "TooComplex"},
		{"10,000 hosts without paths", one(names(10_000)), ""},
		{"10,000 hosts without paths and a default backend", strings.Replace(one(names(10_000)), "  rules:\n", "  defaultBackend: {service: {name: web, port: {number: 80}}}\n  rules:\n", 1), ""},
		{"80 globs and 1,900 prefixes on 50 ports", annotated("listen-ports", ports(50), host("a.com", times(80, func(i int) string { return path(fmt.Sprintf("/*/x%d/*", i), specific) })+
			times(1900, func(i int) string { return path(fmt.Sprintf("/a/p%d", i), "Prefix") }))), "TooComplex"},
		{"400 globs on 50 ports", annotated("listen-ports", ports(50), host("a.com", times(400, func(i int) string { return path(fmt.Sprintf("/*/x%d/*", i), specific) }))), "TooComplex"},
		{"160 globs and 240 prefixes on 50 ports", annotated("listen-ports", ports(50), host("a.com", times(160, func(i int) string { return path(fmt.Sprintf("/*/x%d/*", i), specific) })+
			times(240, func(i int) string { return path(fmt.Sprintf("/a/p%d", i), "Prefix") }))), "TooComplex"},
		{"80 globs and 320 prefixes on 50 ports", annotated("listen-ports", ports(50), host("a.com", times(80, func(i int) string { return path(fmt.Sprintf("/*/x%d/*", i), specific) })+
			times(320, func(i int) string { return path(fmt.Sprintf("/a/p%d", i), "Prefix") }))), ""},
		{"2,000 entries of spec.tls for 2,000 hosts", secure(times(2000, func(int) string { return "  - {}\n" }), hosts(2000)), ""},
		{"2,000 wildcards of spec.tls for 2,000 hosts", secure(times(2000, func(int) string { return "  - hosts: ['*.a.com']\n" }), hosts(2000)), ""},
		{"500 missing Secrets", secure(times(500, func(i int) string { return fmt.Sprintf("  - {hosts: [h%d.a.com], secretName: s%d}\n", i, i) }), host("h0.a.com", path("/", "Prefix"))), "CertificateMissing"},
		{"2,000 missing Secrets", secure(times(2000, func(i int) string { return fmt.Sprintf("  - {hosts: [h%d.a.com], secretName: s%d}\n", i, i) }), host("h0.a.com", path("/", "Prefix"))), "TooComplex"},
		{"2,000 entries that name a Secret of 2,400 other names", secure(times(2000, func(i int) string { return fmt.Sprintf("  - {hosts: [h%d.a.com], secretName: other}\n", i) }), hosts(2000)) + "---\n" + other, "QuotaExceeded"},
		{"10 entries that name a Secret of 2,400 wildcards for 9,900 hosts", secure(times(10, func(int) string { return "  - {secretName: wild}\n" }), names(9900)) + "---\n" + wild, "CertificateInvalid"},
		{"60,000 hosts that are listed below the wildcard of another namespace", group(1, func(int) string {
			return fmt.Sprintf("  tls:\n  - hosts: [%s]\n  rules:\n", list(60_000, func(i int) string { return fmt.Sprintf("h%d.a.com", i) })) + host("b.com", path("/", "Prefix"))
		}) + wildcard, "Omitted"},
		{"5,000 hosts of a Backend of 100 Services", strings.ReplaceAll(one(hosts(5000)), "service: {name: web, port: {number: 80}}", "resource: {apiGroup: fairlead.dev, kind: Backend, name: all}") +
			"---\napiVersion: fairlead.dev/v1alpha1\nkind: Backend\nmetadata: {namespace: shop, name: all}\nspec: {services: [" + list(100, func(i int) string { return fmt.Sprintf("{name: web%d, port: {number: 80}}", i) }) + "]}\n" +
			times(100, func(i int) string { return strings.Replace(service, "name: web}", fmt.Sprintf("name: web%d}", i), 1) }), "NotExpressible"},
		{"100 Services of 100 ports with 250 Pods each", one(host("a.com", times(10_000, func(i int) string {
			backend := fmt.Sprintf("{name: web%d, port: {number: %d}}", i/100, 1+i%100)
			return strings.Replace(path(fmt.Sprintf("/p%d", i), "Exact"), "{name: web, port: {number: 80}}", backend, 1)
		}))) + "---\n" + times(100, crowded), "QuotaExceeded"},
		{"1,999 listed hosts and 5 paths", secure("  - hosts: ["+strings.TrimSuffix(times(1999, func(i int) string { return fmt.Sprintf("h%d.a.com,", i) }), ",")+"]\n",
			host("", times(5, func(i int) string { return path(fmt.Sprintf("/p%d", i), "Prefix") }))), ""},
		{"a Secret of 1 MiB", "apiVersion: v1\nkind: Secret\nmetadata: {namespace: shop, name: t}\ntype: kubernetes.io/tls\ndata: {tls.key: QQ==, tls.crt: " +
			strings.Repeat("QUFB", 250_000) + "}\n---\n" + secure("  - {hosts: [a.com], secretName: t}\n", host("a.com", path("/", "Prefix"))), "CertificateInvalid"},

		{"1,500 values of a condition on 1,000 paths", annotated("conditions", "[{header: {x-a: ["+numbers(1500)+"]}}]", host("a.com",
			times(1000, func(i int) string { return path(fmt.Sprintf("/p%d", i), "Prefix") }))), "NotExpressible"},
		{"500 values of three conditions each", annotated("conditions", "[{header: {x-a: ["+numbers(500)+"]}}, {header: {x-b: ["+numbers(500)+"]}}, {header: {x-c: ["+numbers(500)+"]}}]",
			host("a.com", path("/", "Prefix"))), "NotExpressible"},
		{"aliases", annotated("conditions", "[{header: {x-a: [&a "+strings.Repeat("A", 12_000)+strings.Repeat(", *a", 900)+"]}}]", host("a.com", path("/", "Prefix"))), "AnnotationInvalid"},
		{"an annotation of 250 KiB", annotated("conditions", "[{header: {x-a: ["+numbers(25_000)+"]}}]", host("a.com", path("/", "Prefix"))), "AnnotationInvalid"},
		{"6,000 annotations", strings.Replace(one(host("a.com", path("/", "Prefix"))), "  name: web\nspec", "  name: web\n  annotations:\n"+
			times(6000, func(i int) string { return fmt.Sprintf("    alb.ingress.kubernetes.io/a%d: x\n", i) })+"spec", 1), ""},
	}
}

const (
	class = `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: fairlead}
spec:
  controller: fairlead.dev/ingress
  parameters: {apiGroup: fairlead.dev, kind: ClusterLoadBalancerClass, name: p}
---
apiVersion: fairlead.dev/v1alpha1
kind: ClusterLoadBalancerClass
metadata: {name: p}
`
	regular      = class + "spec: {implementationSpecific: Regex}\n---\n"
	lessSpecific = class + "spec: {hostMiss: LessSpecific}\n---\n"
	service      = `---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web}
spec:
  clusterIP: 10.0.0.1
  ports: [{port: 80}]
`
	ingress = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  namespace: shop
  name: web
spec:
  ingressClassName: fairlead
`
)

// one is an Ingress with rules, and its Service.
func one(rules ...string) string { return ingress + "  rules:\n" + strings.Join(rules, "") + service }

// secure is one with entries of spec.tls.
func secure(entries string, rules ...string) string {
	return ingress + "  tls:\n" + entries + "  rules:\n" + strings.Join(rules, "") + service
}

// listed is an Ingress that lists 9,900 hosts with a valid certificate and serves them on 50 ports.
func listed(certificate string, rules ...string) string {
	return listedOn(strings.ReplaceAll(ports(50), "HTTP:", "HTTPS:"), certificate, rules...)
}

// listedOn is one that serves them on some ports.
func listedOn(ports, certificate string, rules ...string) string {
	entry := "  - secretName: t\n    hosts: [" + strings.TrimSuffix(times(9900, func(i int) string { return fmt.Sprintf("h%d.a.com,", i) }), ",") + "]\n"
	manifest := strings.Replace(secure(entry, rules...), "  name: web\nspec", fmt.Sprintf("  name: web\n  annotations:\n    fairlead.dev/listen-ports: '%s'\nspec", ports), 1)
	return manifest + "---\n" + certificate
}

// annotated is one with an annotation of ours.
func annotated(name, value string, rules ...string) string {
	return strings.Replace(one(rules...), "  name: web\nspec", fmt.Sprintf("  name: web\n  annotations:\n    fairlead.dev/%s: '%s'\nspec", name, value), 1)
}

// host is a rule.
func host(name, paths string) string {
	return fmt.Sprintf("  - host: %q\n    http:\n      paths:\n", name) + paths
}

// hosts are so many rules of one path.
func hosts(n int) string {
	return times(n, func(i int) string { return host(fmt.Sprintf("h%d.a.com", i), path("/", "Prefix")) })
}

// names are so many rules without paths.
func names(n int) string {
	return times(n, func(i int) string { return fmt.Sprintf("  - host: h%d.a.com\n", i) })
}

func path(value, kind string) string {
	return fmt.Sprintf("      - {path: \"%s\", pathType: %s, backend: {service: {name: web, port: {number: 80}}}}\n", value, kind)
}

func ports(n int) string {
	return strings.TrimSuffix(times(n, func(i int) string { return fmt.Sprintf("HTTP:%d,", 8000+i) }), ",")
}

// crowded is a Service of 100 ports with 250 endpoints.
func crowded(service int) string {
	served := func(key string) string {
		return list(100, func(i int) string {
			return fmt.Sprintf("{name: p%d, port: %d}", i, map[string]int{"Service": 1 + i, "EndpointSlice": 8000 + i%20}[key])
		})
	}
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {namespace: shop, name: web%d}\nspec: {clusterIP: 10.0.0.1, ports: [%s]}\n---\n", service, served("Service")) +
		fmt.Sprintf("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {namespace: shop, name: web%d, labels: {kubernetes.io/service-name: web%d}}\naddressType: IPv4\nports: [%s]\nendpoints: [%s]\n---\n",
			service, service, served("EndpointSlice"), list(250, func(i int) string {
				return fmt.Sprintf("{addresses: [10.0.0.%d], targetRef: {kind: Pod, namespace: shop, name: p%d}}", i+1, i)
			}))
}

func numbers(n int) string {
	return strings.TrimSuffix(times(n, func(i int) string { return fmt.Sprintf("v%d,", i) }), ",")
}

func times(n int, part func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(part(i))
	}
	return b.String()
}
