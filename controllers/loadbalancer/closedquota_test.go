package loadbalancer

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/fake"
)

// The hosts that bob gives up, and that are closed below an Ingress of alice without a host, count for
// his share of a quota. She keeps what she is served within hers, and gets the rest of it when she asks
// for it. Both have six rules of twelve.
func TestClosedHostsCountForTheQuotaOfTheirGiver(t *testing.T) {
	for _, first := range []string{"alice", "bob"} {
		t.Run(first+" is served first", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var hosts []string
				for i := range mostClosed {
					hosts = append(hosts, fmt.Sprintf("h%d.bob.example", i))
				}
				r := restart{newSharedBench(t, gated, ruleBook(fmt.Sprintf(`
expectations:
- name: only-bob
  requests: {hosts: [%s]}
  must: {namespaces: [bob]}
`, strings.Join(hosts, ", ")))), nil}
				caps := lb.ALB()
				caps.Rules = 12
				cloud, err := fake.New(fake.Options{Capabilities: caps})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(cloud.Close)
				r.cloud.Cloud = cloud
				host := func(namespace string, i int) string { return fmt.Sprintf("%s%d.other", namespace, i) }
				asks := map[string]func(){}
				for namespace, n := range map[string]int{"alice": 5, "bob": 6} {
					asks[namespace] = func() {
						for i := range n {
							r.put(joins(namespace, "own"+strconv.Itoa(i), host(namespace, i), "/"))
							r.work()
						}
					}
				}
				many := joins("bob", "many", hosts[0], "/")
				for _, h := range hosts[1:] {
					rule := many.Spec.Rules[0]
					rule.Host = h
					many.Spec.Rules = append(many.Spec.Rules, rule)
				}
				r.put(many)
				r.work()
				r.put(joins("alice", "web", "", "/a"))
				r.work()
				if first == "alice" {
					asks["alice"]()
				}
				r.remove("bob", "many", false)
				r.work()
				asks["bob"]()
				if first == "bob" {
					asks["alice"]()
				}
				if hosts, _ := r.closed(); len(hosts) != mostClosed {
					t.Errorf("closed are %q", hosts)
				}
				r.answers("h1.bob.example", "/a", "404")
				r.answers("z.example", "/a", "alice/web")
				for i := range 5 {
					r.answers(host("alice", i), "/", "alice/web")
					r.answers(host("bob", i), "/", "bob/web")
				}
				r.hears("bob", "own5", "QuotaExceeded")
			})
		})
	}
}
