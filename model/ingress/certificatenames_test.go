package ingress

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/routing"
)

// Each name is looked up once, and that says the same as comparing it with every other one.
func TestNamesOfCertificates(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 7))
	pool := []string{"", "a.test", "a.test.", "b.test", "*.test", "*.a.test", "c.a.test", "a", "*.b.test", "b.b.test.", "d.b.test"}
	pick := func() (out []string) {
		for range rng.IntN(8) {
			out = append(out, pool[rng.IntN(len(pool))])
		}
		return out
	}
	for range 2000 {
		first, second := pick(), pick()
		var want []routing.Host
		for _, n := range slices.Concat(first, second) {
			if host := routing.Host(n); n != "" {
				if host[len(host)-1] == '.' {
					host = host[:len(host)-1]
				}
				if !slices.Contains(want, host) {
					want = append(want, host)
				}
			}
		}
		if got := routing.DistinctHosts(first, second); !slices.Equal(got, want) {
			t.Fatalf("of %q and %q: %q, want %q", first, second, got, want)
		}
		hosts := slices.DeleteFunc(first, func(n string) bool { return n == "" })
		d := &listenerBuilder{known: map[routing.CertificateID]*routing.Certificate{"x": {ID: "x", Hosts: hosts}}, names: newNames()}
		for _, h := range pool[1:] {
			want := slices.ContainsFunc(hosts, func(n string) bool { return routing.Host(n).Covers(routing.Host(h)) })
			if got := d.certifies("x", routing.Host(h)); got != want {
				t.Fatalf("names %q are for %s: %t, want %t", hosts, h, got, want)
			}
		}
	}
}

// What is learnt of a certificate of the cloud later counts too.
func TestNamesThatAreLearntLater(t *testing.T) {
	d := &listenerBuilder{known: map[routing.CertificateID]*routing.Certificate{}, names: newNames()}
	for i, want := range [][]routing.Host{nil, {"h0.test"}, {"h0.test", "h1.test"}} {
		if got := d.namesOf("x"); !slices.Equal(got, want) {
			t.Errorf("names %q, want %q", got, want)
		}
		d.recordHost("x", fmt.Sprintf("h%d.test", i))
		if !d.certifies("x", routing.Host(fmt.Sprintf("h%d.test", i))) {
			t.Errorf("not for the host that was learnt: %q", d.known["x"].Hosts)
		}
	}
}
