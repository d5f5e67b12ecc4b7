package remote

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/serve"
)

// BenchmarkPlan carries out a plan of 2,000 rules, by a provider in this process and by the same
// one over a connection.
func BenchmarkPlan(b *testing.B) {
	want := lb.LoadBalancer{Key: shop, Wanted: true, Listeners: []lb.Listener{{Port: 80, Protocol: "HTTP", Default: lb.Action{Kind: "fixed", Status: 404}}}}
	for i := range 2000 {
		want.Listeners[0].Rules = append(want.Listeners[0].Rules, lb.Rule{
			Conditions: []lb.Condition{{Field: "host", Values: []string{fmt.Sprintf("h%d.example.com", i)}}, {Field: "path", Values: []string{"/a", "/a/*"}}},
			Action:     lb.Action{Kind: "fixed", Status: 200},
		})
	}
	want.Digest, want.Listeners[0].Digest = lb.DigestOf(want.Settings), lb.DigestOf(want.Listeners[0].Settings)
	for _, parallel := range []int{4, 100} {
		for name, start := range map[string]func(*fake.Cloud) providers.Provider{
			"in process": func(c *fake.Cloud) providers.Provider { return c },
			"remote":     func(c *fake.Cloud) providers.Provider { return open(b, served(b, serve.New(c, serve.Options{}))) },
		} {
			b.Run(fmt.Sprintf("%s, %d steps at once", name, parallel), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					cloud, err := fake.New(fake.Options{})
					if err != nil {
						b.Fatal(err)
					}
					p := start(cloud)
					seen := &lb.Observed{Key: shop}
					todo := planner.Diff(seen, want, p.Capabilities(lb.Class{}))
					b.StartTimer()
					if _, err := providers.Run(b.Context(), p, seen, todo, providers.Options{Parallel: parallel}); err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					cloud.Close()
					b.StartTimer()
				}
			})
		}
	}
}
