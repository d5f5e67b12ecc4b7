package ingress

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/routing"
)

func TestCertificatesAndHosts(t *testing.T) {
	held := func(namespace string, host routing.Host, settled bool) HostHolding {
		return HostHolding{Host: host, Namespace: namespace, Settled: settled}
	}
	const nothing, host, certificate = "no overlap", "the host goes first", "the certificate goes first"
	cases := map[string]struct {
		claims  []HostClaim
		held    []HostHolding
		age     int // of the Ingress of bob, who brings the certificate
		names   []routing.Host
		served  []routing.Host // names of certificates of bob
		itself  bool           // the certificate is served
		granted []routing.Host // to bob
		want    string
	}{
		"a host of its own namespace": {
			claims: []HostClaim{claim("bob", 1, "b.test")}, age: 1, names: []routing.Host{"b.test", "*.test"}, want: nothing,
		},
		"a name that no namespace asks for": {
			claims: []HostClaim{claim("alice", 2, "a.test")}, age: 1, names: []routing.Host{"c.test", "a.a.test", "*.a.test"}, want: nothing,
		},
		"what is for any host is for no name": {
			claims: []HostClaim{claim("alice", 2, routing.Any)}, age: 1, names: []routing.Host{"c.test"}, want: nothing,
		},
		"the name of an older host": {
			claims: []HostClaim{claim("alice", 2, "a.test")}, age: 1, names: []routing.Host{"a.test"}, want: host,
		},
		"the name of a younger host": {
			claims: []HostClaim{claim("alice", 2, "a.test")}, age: 3, names: []routing.Host{"a.test"}, want: certificate,
		},
		"a wildcard above an older host": {
			claims: []HostClaim{claim("alice", 2, "a.test")}, age: 1, names: []routing.Host{"*.test"}, want: host,
		},
		"a wildcard above an older host, though the wildcard is its own host": {
			claims: []HostClaim{claim("alice", 2, "a.test"), claim("bob", 1, "*.test")}, age: 1, names: []routing.Host{"*.test"}, want: host,
		},
		"a name below an older wildcard": {
			claims: []HostClaim{claim("alice", 2, "*.test")}, age: 1, names: []routing.Host{"b.test"}, want: host,
		},
		"a name below a wildcard, which is its own host": {
			claims: []HostClaim{claim("alice", 2, "*.test"), claim("bob", 3, "b.test")}, age: 1, names: []routing.Host{"b.test"}, want: nothing,
		},
		"the wildcard of another namespace": {
			claims: []HostClaim{claim("alice", 2, "*.test")}, age: 1, names: []routing.Host{"*.test"}, want: host,
		},
		"an old Ingress that gets a certificate for a host that is remembered": {
			claims: []HostClaim{claim("alice", 2, "a.test")}, held: []HostHolding{held("alice", "a.test", true)}, age: 3, names: []routing.Host{"a.test"}, want: host,
		},
		"an old Ingress that names a host below a certificate that is served": {
			claims: []HostClaim{claim("alice", 2, "a.test")}, age: 1, names: []routing.Host{"*.test"}, served: []routing.Host{"*.test"}, want: certificate,
		},
		"the same once the host is remembered, too": {
			claims: []HostClaim{claim("alice", 2, "a.test")}, held: []HostHolding{held("alice", "a.test", false)}, age: 1, names: []routing.Host{"*.test"}, served: []routing.Host{"*.test"}, want: certificate,
		},
		"another name of a certificate that is served": {
			claims: []HostClaim{claim("alice", 2, "a.test")}, age: 1, names: []routing.Host{"*.test"}, served: []routing.Host{"b.test"}, want: host,
		},
		"a host that was served beside the certificate before": {
			claims: []HostClaim{claim("alice", 2, "a.test")}, held: []HostHolding{held("alice", "a.test", true)}, age: 3, names: []routing.Host{"*.test"}, served: []routing.Host{"*.test"}, want: host,
		},
		"the certificate that was served beside a host before": {
			claims: []HostClaim{claim("alice", 2, "a.test")}, held: []HostHolding{held("alice", "a.test", true)}, age: 1, names: []routing.Host{"*.test"}, itself: true, want: certificate,
		},
		"a host that is granted goes before it": {
			claims: []HostClaim{granted(claim("alice", 2, "a.test"))}, age: 3, names: []routing.Host{"*.test"}, itself: true, want: host,
		},
		"a host that is reserved": {
			held: []HostHolding{held("alice", "a.test", true)}, age: 3, names: []routing.Host{"*.test"}, want: host,
		},
		"a host that is granted goes before what is served": {
			claims: []HostClaim{granted(claim("alice", 1, "a.test"))}, age: 2, names: []routing.Host{"*.test"}, served: []routing.Host{"*.test"}, want: host,
		},
		"a grant of the wildcard is none of the host": {
			claims: []HostClaim{granted(claim("alice", 1, "a.test"))}, age: 2, names: []routing.Host{"*.test"}, served: []routing.Host{"*.test"}, granted: []routing.Host{"*.test"}, want: host,
		},
		"a name that is granted goes before a wildcard host": {
			claims: []HostClaim{granted(claim("alice", 2, "*.test"))}, held: []HostHolding{held("alice", "*.test", true)}, age: 1, names: []routing.Host{"b.test"}, granted: []routing.Host{"b.test"}, want: certificate,
		},
		"of two grants the older": {
			claims: []HostClaim{granted(claim("alice", 2, "a.test"))}, age: 1, names: []routing.Host{"a.test"}, granted: []routing.Host{"a.test"}, want: host,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := nothing
			for o := range ResolveOwners(c.claims, c.held).overlaps(CertificateClaim{
				Names: c.names, By: claim("bob", c.age, "").By,
				Served:  c.itself,
				Granted: func(h routing.Host) bool { return slices.Contains(c.granted, h) },
				Covered: func(h routing.Host) bool { return slices.Contains(c.served, h) },
			}) {
				if o.Owner != "alice" {
					t.Errorf("%s overlaps with %s of %s", o.Name, o.Host, o.Owner)
				}
				if got = certificate; o.First {
					got = host
				}
			}
			if got != c.want {
				t.Errorf("%s, want: %s", got, c.want)
			}
		})
	}
}

func TestWithoutOwnersNothingOverlaps(t *testing.T) {
	var o *HostOwners
	for overlap := range o.overlaps(CertificateClaim{Names: []routing.Host{"a.test"}}) {
		t.Errorf("%v overlaps", overlap)
	}
}
