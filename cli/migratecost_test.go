package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// This file holds what migrate costs, in allocations: they are the same on a machine that is busy.

// manyForNGINX returns a file with Ingresses of ingress-nginx, of as many hosts and Secrets that are missing, with a rewrite each.
func manyForNGINX(t *testing.T, n, namespaces int) string {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  namespace: n%d
  name: i%d
  annotations: {nginx.ingress.kubernetes.io/rewrite-target: /$2}
spec:
  ingressClassName: nginx
  tls:
  - {hosts: [h%d.example], secretName: s%d}
  rules:
  - host: h%d.example
    http:
      paths:
      - {path: /a(/|$)(.*), pathType: ImplementationSpecific, backend: {service: {name: web, port: {number: 80}}}}
      - {path: /b(/|$)(.*), pathType: ImplementationSpecific, backend: {service: {name: web, port: {number: 80}}}}
`, i%namespaces, i, i, i, i)
	}
	file := filepath.Join(t.TempDir(), "many.yaml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// allocations returns how many a command makes.
func allocations(t *testing.T, args ...string) float64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if got := fairlead(t, args...); got.out == "" {
		t.Fatalf("exit code %d, %s", got.code, got.err)
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs)
}

// TestMigrateCostsLittleMoreThanAPlan: it reads and compiles Ingresses once, though Secrets are missing, and beyond a quota once more.
func TestMigrateCostsLittleMoreThanAPlan(t *testing.T) {
	for what, c := range map[string]struct {
		ingresses, namespaces int
		most                  float64 // times those of plan
		each                  float64 // for an Ingress
	}{"within the quotas": {120, 12, 1.15, 7_400}, "beyond a quota": {120, 1, 1.38, 10_800}} {
		t.Run(what, func(t *testing.T) {
			file := manyForNGINX(t, c.ingresses, c.namespaces)
			plan := allocations(t, "plan", "--from", "nginx", "--provider", "aws", "-f", file)
			migrate := allocations(t, "migrate", "--from", "nginx", "--provider", "aws", "-f", file)
			t.Logf("%.0f and %.0f, %.2f times", plan, migrate, migrate/plan)
			if migrate > c.most*plan {
				t.Errorf("migrate makes %.0f allocations, %.1f times those of plan: want at most %.2f", migrate, migrate/plan, c.most)
			}
			if each := migrate / float64(c.ingresses); each > c.each {
				t.Errorf("migrate makes %.0f allocations for each Ingress: want at most %.0f", each, c.each)
			}
			if double := allocations(t, "migrate", "--from", "nginx", "--provider", "aws", "-f",
				manyForNGINX(t, 2*c.ingresses, 2*c.namespaces)); double > 2.3*migrate {
				t.Errorf("for twice the Ingresses, migrate makes %.1f times the allocations", double/migrate)
			}
		})
	}
}
