package compare

import (
	"fmt"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/tables"
)

// This file measures comparisons of large tables.

// large is a configuration of hosts with paths each. Of every hundredth route the Service differs
// between versions.
func large(hosts, paths, version int) routing.Config {
	c := routing.Config{Key: "fairlead/@all/internal", Listeners: []routing.Listener{{Port: 80, Protocol: routing.HTTP}}}
	for h := range hosts {
		for p := range paths {
			n := h*paths + p
			service := fmt.Sprintf("shop/service-%d:80", n)
			if n%100 == 0 {
				service += fmt.Sprintf("/%d", version)
			}
			r := routing.Route{
				Host: routing.Host(fmt.Sprintf("host-%d.example.com", h)), Action: routing.To(routing.BackendID(service)), Ports: []int32{80},
				Path:  routing.NewPath(routing.Prefix, fmt.Sprintf("/api/v%d/resource-%d", p%7, p)),
				Owner: routing.Owner{Namespace: "shop", Name: fmt.Sprintf("ingress-%d", h)}, Index: n,
				Source: diag.Source{Kind: "Ingress", Namespace: "shop", Name: fmt.Sprintf("ingress-%d", h), Field: fmt.Sprintf("spec.rules[%d]", p)},
			}
			switch p % 50 {
			case 0:
				r.Path = routing.Root
			case 1:
				r.Path = routing.Path{Type: routing.Glob, Value: fmt.Sprintf("/static/*/image-%d.*", p)}
			case 2:
				r.Path = routing.Path{Type: routing.Exact, Value: fmt.Sprintf("/health-%d", p)}
			case 3:
				r.When = routing.Conditions{{Field: "header", Name: "x-canary", Values: []string{"yes"}}}
			}
			c.Routes = append(c.Routes, r)
		}
	}
	return c
}

var shapes = []struct{ hosts, paths int }{{100, 20}, {2000, 1}, {1, 2000}}

func BenchmarkTables(b *testing.B) {
	for _, s := range shapes {
		b.Run(fmt.Sprintf("hosts=%d/paths=%d", s.hosts, s.paths), func(b *testing.B) {
			b.ReportAllocs()
			before, after := tables.Named(large(s.hosts, s.paths, 1)), tables.Named(large(s.hosts, s.paths, 2))
			for b.Loop() {
				report := Tables([]*precedence.Table{before}, []*precedence.Table{after}, requests.OfCommand)
				if len(report.Undecided) > 0 || len(report.Changes) == 0 {
					b.Fatalf("%d changes, undecided %v", len(report.Changes), report.Undecided)
				}
			}
		})
	}
}

// TestTwoThousandRoutesTakeASecond has room for a machine that is busy.
func TestTwoThousandRoutesTakeASecond(t *testing.T) {
	for _, s := range shapes {
		before, after := tables.Named(large(s.hosts, s.paths, 1)), tables.Named(large(s.hosts, s.paths, 2))
		began := time.Now()
		report := Tables([]*precedence.Table{before}, []*precedence.Table{after}, requests.OfCommand)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%d hosts with %d paths took %v", s.hosts, s.paths, took)
		}
		if len(report.Undecided) > 0 {
			t.Errorf("%d hosts with %d paths: undecided %v", s.hosts, s.paths, report.Undecided)
		}
	}
}
