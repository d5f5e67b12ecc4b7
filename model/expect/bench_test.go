package expect

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/tables"
)

// This file measures what expectations cost before a plan is carried out.

// BenchmarkExpectations checks two expectations of a table with 100 hosts, as the operator does in
// a reconcile: one about hosts, and one about paths in all spellings.
func BenchmarkExpectations(b *testing.B) {
	all, err := Read(`expectations:
- name: only-shop
  requests: {hosts: ["*.example.com"]}
  must: {namespaces: [shop]}
- name: no-admin
  requests: {paths: [{prefix: /admin, decoded: true}]}
  must: {namespaces: [shop]}
`)
	if err != nil {
		b.Fatal(err)
	}
	for _, paths := range []int{1, 20} {
		b.Run(fmt.Sprintf("routes=%d", 100*paths), func(b *testing.B) {
			c := routing.Config{Key: "fairlead/@all/internal", Listeners: []routing.Listener{{Port: 80, Protocol: routing.HTTP}}}
			for n := range 100 * paths {
				host := n / paths
				c.Routes = append(c.Routes, routing.Route{
					Host: routing.Host(fmt.Sprintf("host-%d.example.com", host)), Path: routing.NewPath(routing.Prefix, fmt.Sprintf("/v%d", n%paths)),
					Action: routing.To(routing.BackendID(fmt.Sprintf("shop/service-%d:80", n))), Ports: []int32{80}, Index: n,
					Owner:  routing.Owner{Namespace: "shop", Name: fmt.Sprintf("ingress-%d", host)},
					Source: diag.Source{Kind: "Ingress", Namespace: "shop", Name: fmt.Sprintf("ingress-%d", host)},
				})
			}
			table := tables.Named(c)
			for b.Loop() {
				for _, e := range all {
					if got := CheckOne(e, table, requests.NewFinder(requests.OfCommand)); got.Verdict == Undecided {
						b.Fatalf("%s is not decided", e.Name)
					}
				}
			}
		})
	}
}
