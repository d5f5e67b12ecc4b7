package hostile

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file tries attacks on the class that docs/explanation/security.md recommends.

// recommended are the objects of the class in the document, beside the namespaces of two tenants
// and what Alice has.
func recommended(t *testing.T) contents {
	t.Helper()
	text, err := os.ReadFile("../../docs/explanation/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```yaml\n")
	class, _, ends := strings.Cut(rest, "```")
	if !found || !ends {
		t.Fatal("docs/explanation/security.md has no class")
	}
	manifest := class
	for _, tenant := range []string{"alice", "bob"} {
		manifest += fmt.Sprintf("\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: %[1]s, labels: {kubernetes.io/metadata.name: %[1]s}}\n", tenant)
	}
	o := options{
		Services: []string{"alice/web:80", "bob/web:80"},
		Secrets:  map[string][]string{"alice/tls": {"a.example.com"}, "bob/tls": {"b.example.com"}, "bob/forged": {"b.example.com", "a.example.com"}},
	}
	made, err := o.objects()
	if err != nil {
		t.Fatal(err)
	}
	return contents(append(made, documents(t, manifest+"\n---\n"+tenants("alice", "a", "tls", "2020", "a.example.com", "/", ""))...))
}

func documents(t *testing.T, manifest string) []client.Object {
	t.Helper()
	all, err := decodeAll([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// tenants is an Ingress of a tenant in the group that all share, with one more line of annotations.
func tenants(namespace, name, secret, year, host, path, annotation string) string {
	return fmt.Sprintf(`apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  namespace: %s
  name: %s
  creationTimestamp: "%s-01-01T00:00:00Z"
  annotations:
    fairlead.dev/group: public
    %s
spec:
  ingressClassName: fairlead
  tls: [{hosts: [%s], secretName: %s}]
  rules: [{host: %[5]s, http: {paths: [{path: %[7]s, pathType: ImplementationSpecific, backend: {service: {name: web, port: {number: 80}}}}]}}]
`, namespace, name, year, annotation, host, secret, path)
}

func TestTheRecommendedClass(t *testing.T) {
	for name, attack := range map[string]struct {
		manifest string
		holds    []string
	}{
		"nothing": {
			tenants("bob", "b", "tls", "2021", "b.example.com", "/", ""),
			[]string{"GET https://b.example.com/ -> bob/web:80", "presented 443 b.example.com -> bob/tls", "not told bob/b HostNotAllowed"},
		},
		"her host, from an older Ingress": {
			tenants("bob", "evil", "tls", "2019", "a.example.com", "/*", ""), []string{"told bob/evil HostNotAllowed"},
		},
		"her host, with a condition": {
			tenants("bob", "evil", "tls", "2021", "a.example.com", "/", `fairlead.dev/conditions: '[{header: {User-Agent: ["*"]}}]'`),
			[]string{"GET https://a.example.com/ with User-Agent: curl -> alice/web:80", "told bob/evil HostNotAllowed"},
		},
		"her certificate": {
			tenants("bob", "evil", "forged", "2021", "b.example.com", "/", ""), []string{"told bob/evil CertificateForeign"},
		},
		"everybody's addresses": {
			tenants("bob", "evil", "tls", "2019", "b.example.com", "/", "fairlead.dev/inbound: 0.0.0.0/0"), []string{"told bob/evil AnnotationNotAllowed"},
		},
		"no web ACL": {
			tenants("bob", "evil", "tls", "2019", "b.example.com", "/", "fairlead.dev/wafv2-acl: none"),
			[]string{"told bob/evil AnnotationNotAllowed", `printed "set web ACL of fairlead/@public/internet-facing  shared-edge"`},
		},
		"plain HTTP": {
			tenants("bob", "evil", "tls", "2019", "b.example.com", "/", `fairlead.dev/listen-ports: "HTTP:443"`), []string{"told bob/evil AnnotationNotAllowed"},
		},
		"a certificate of the account": {
			tenants("bob", "evil", "tls", "2019", "b.example.com", "/", "fairlead.dev/certificate-arn: arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012"),
			[]string{"told bob/evil AnnotationNotAllowed"},
		},
		"no class": {
			strings.Replace(tenants("bob", "evil", "tls", "2019", "a.example.com", "/", "kubernetes.io/ingress.class: none"), "  ingressClassName: fairlead\n", "", 1),
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			of := append(recommended(t), documents(t, attack.manifest)...)
			check(t, compile(t, options{}, of), expectations(t, append(attack.holds,
				"GET https://a.example.com/ -> alice/web:80",
				"GET https://a.example.com/x -> alice/web:80",
				"GET http://a.example.com/ -> refused",
				"presented 443 a.example.com -> alice/tls",
				"load balancers -> fairlead/@public/internet-facing",
			)))
		})
	}
}

func expectations(t *testing.T, lines []string) []expectation {
	t.Helper()
	var all []expectation
	for _, line := range lines {
		e, err := parse(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

// The class that the document recommends keeps load balancers, so that a tenant could have any
// number of them.
func TestTheRecommendedClassBoundsLoadBalancers(t *testing.T) {
	of := recommended(t)
	for _, name := range []string{"b1", "b2", "b3"} {
		manifest := tenants("bob", name, "tls", "202"+name[1:], "b.example.com", "/", "")
		of = append(of, documents(t, strings.Replace(manifest, "    fairlead.dev/group: public\n", "", 1))...)
	}
	check(t, compile(t, options{}, of), expectations(t, []string{
		"told bob/b3 LoadBalancerQuota", "not told bob/b2 LoadBalancerQuota",
		"load balancers -> fairlead/@public/internet-facing, fairlead/bob/b1/internet-facing, fairlead/bob/b2/internet-facing",
	}))
}
