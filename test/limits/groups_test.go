package limits

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/test/cputime"
	"fairlead.dev/fairlead/test/nightly"
	"fairlead.dev/fairlead/test/objects"
)

// What the Ingresses of one namespace may take together of plan, of a load balancer that it shares
// with others. On a quiet machine the longest row takes 3 s of CPU.
const (
	mostMemoryTogether = 512 << 20
	mostTimeTogether   = 6 * time.Second
)

// groups are what was found to take most of what many Ingresses can ask for together.
func groups(t *testing.T) []row {
	specific := "ImplementationSpecific"
	glob := func(k int) string {
		path := "/"
		for l := range 6 {
			path += fmt.Sprintf("*%c%c", 'a'+(k*(l+1)+l)%5, 'a'+(k/(l+1))%5)
		}
		return path + fmt.Sprint(k)
	}
	return []row{
		{"400 Ingresses of one rule each", group(400, func(i int) string { return "  rules:\n" + host(fmt.Sprintf("h%d.a.com", i), path("/", "Prefix")) }), "QuotaExceeded"},
		{"2,000 Ingresses of one rule each", group(2000, func(i int) string { return "  rules:\n" + host(fmt.Sprintf("h%d.a.com", i), path("/", "Prefix")) }), "QuotaExceeded"},
		{"60 Ingresses of 8 globs each", group(60, func(i int) string {
			return "  rules:\n" + host("h.a.com", times(8, func(j int) string { return path(glob(8*i+j), specific) }))
		}), ""},
		{"19,600 hosts that are listed below the wildcard of another namespace", certificates(t, 1, "b.com") + group(4, func(i int) string {
			return "  tls:\n  - secretName: t0\n    hosts: [" + strings.TrimSuffix(times(4900, func(j int) string { return fmt.Sprintf("h%d-%d.a.com,", i, j) }), ",") + "]\n" +
				"  rules:\n" + host("", path("/", "Prefix"))
		}) + wildcard, ""},
		{"160,000 hosts that are listed below the wildcard of another namespace", group(40, func(i int) string {
			return fmt.Sprintf("  tls:\n  - hosts: [%s]\n  rules:\n", list(4000, func(j int) string { return fmt.Sprintf("h%d-%d.a.com", i, j) })) + host(fmt.Sprintf("h%d.b.com", i), path("/", "Prefix"))
		}) + wildcard, "Omitted"},
		{"50 Ingresses of one Service with 7,000 annotations of another controller", strings.Replace(group(50, func(i int) string { return "  rules:\n" + host(fmt.Sprintf("h%d.a.com", i), path("/", "Prefix")) }),
			"metadata: {namespace: shop, name: web}\nspec:\n  clusterIP", "metadata: {namespace: shop, name: web, annotations: {"+list(7000, func(i int) string { return fmt.Sprintf("x.ingress.kubernetes.io/zzqjxwvk%05d: x", i) })+"}}\nspec:\n  clusterIP", 1), "AnnotationForeign"},
		{"10 Ingresses of 4,000 exact paths below the prefix of another", group(11, func(i int) string {
			if i == 10 {
				return "  rules:\n" + host("h.a.com", path("/", "Prefix"))
			}
			return "  rules:\n" + host("h.a.com", times(4000, func(j int) string { return path(fmt.Sprintf("/%d-%d", i, j), "Exact") }))
		}), ""},
		{"5 Ingresses of 2,000 exact paths, and 60 of which many are refused", group(66, func(i int) string {
			switch {
			case i == 0:
				return "  rules:\n" + host("h.a.com", path("/", "Prefix"))
			case i <= 5:
				return "  rules:\n" + host("h.a.com", times(2000, func(j int) string { return path(fmt.Sprintf("/%d-%d", i, j), "Exact") }))
			}
			return "  rules:\n" + host(fmt.Sprintf("h%d.b.com", i), times(1+30*(i%2), func(j int) string {
				return strings.Replace(path(fmt.Sprintf("/p%d", j), "Exact"), "name: web", fmt.Sprintf("name: web%d", j%2), 1)
			}))
		}), "QuotaExceeded"},
		{"150 Ingresses with certificates of 2,400 names", certificates(t, 150, times(2400, func(i int) string { return fmt.Sprintf("n%d.a.com ", i) })) + group(150, func(i int) string {
			return fmt.Sprintf("  tls:\n  - {secretName: t%d, hosts: [h%d.a.com]}\n  rules:\n", i, i) + host(fmt.Sprintf("h%d.a.com", i), path("/", "Prefix"))
		}), "QuotaExceeded"},
	}
}

// list is a list of so many things.
func list(n int, part func(i int) string) string {
	return strings.TrimSuffix(times(n, func(i int) string { return part(i) + ", " }), ", ")
}

// wildcard is an Ingress of another namespace for the wildcard above.
const wildcard = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: zoo, name: web, annotations: {fairlead.dev/group: public}}
spec:
  ingressClassName: fairlead
  rules:
  - {host: "*.a.com", http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}
---
`

// group are n Ingresses of one namespace, and their Service, in a group across namespaces.
func group(n int, spec func(i int) string) string {
	return shared + times(n, func(i int) string {
		return fmt.Sprintf("apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {namespace: shop, name: web%d, annotations: {fairlead.dev/group: public}}\nspec:\n  ingressClassName: fairlead\n", i) +
			spec(i) + "---\n"
	}) + strings.TrimPrefix(service, "---\n") + "---\n"
}

const shared = class + "spec: {groups: [{name: public}]}\n---\n"

// certificates are n TLS Secrets of namespace shop, t0 and so on, for the same names.
func certificates(t *testing.T, n int, names string) string {
	t.Helper()
	return times(n, func(i int) string {
		secret, err := objects.Secret(fmt.Sprintf("shop/t%d", i), strings.Fields(names))
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := yaml.Marshal(secret)
		if err != nil {
			t.Fatal(err)
		}
		return string(manifest) + "---\n"
	})
}

func TestManyIngressesTakeLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the binary on the largest groups")
	}
	fairlead := command(t)
	for _, row := range nightly.Some(t, 3, groups(t)) {
		t.Run(row.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ingress.yaml")
			if err := os.WriteFile(file, []byte(row.manifests), 0o600); err != nil {
				t.Fatal(err)
			}
			status, said := ran(t, fairlead, "plan", "--provider", "aws", "-f", file)
			memory, spent := memoryOf(status), cputime.Of(status)
			t.Logf("%7d bytes: %.2f s of CPU, %d MiB", len(row.manifests), spent.Seconds(), memory>>20)
			if cputime.Over(t, spent, mostTimeTogether) || memory > mostMemoryTogether {
				t.Errorf("it took %s of CPU and %d MiB", spent, memory>>20)
			}
			if !strings.Contains(said, row.says) {
				t.Errorf("nothing is said of %s: %.500s", row.says, said)
			}
		})
	}
}
