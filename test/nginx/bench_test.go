package nginx

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkLoad is a start of nginx, with a cluster of some Ingresses.
func BenchmarkLoad(b *testing.B) {
	o, c := Idle(b), RandomCluster(rand.New(rand.NewPCG(2, 1)))
	for b.Loop() {
		if err := o.Load(c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAsk is a request and its answer, one after the other.
func BenchmarkAsk(b *testing.B) {
	trap := trap{ingresses: [][]string{{"a", "a.example /foo(/|$)(.*) web", "rewrite-target: /$2"}}}
	o := Idle(b)
	if err := o.Load(trap.cluster(b)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if got := o.Ask(Request{Host: "a.example", Target: "/foo/bar"}).String(); got != "default/web:80 /bar" {
			b.Fatal(got)
		}
	}
}
