package ingress

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// claim is that of Ingress namespace/i, which is so old.
func claim(namespace string, age int, host routing.Host) HostClaim {
	return HostClaim{Host: host, By: routing.Owner{Namespace: namespace, Name: "i", Created: time.Unix(int64(1_000_000-age), 0)},
		Source: diag.Source{Kind: "Ingress", Namespace: namespace, Name: "i"}}
}

func granted(c HostClaim) HostClaim {
	c.Granted = true
	return c
}

func ordered(c HostClaim, order int) HostClaim {
	c.By.Order = order
	return c
}

func TestOwners(t *testing.T) {
	held := func(namespace string, host routing.Host) HostHolding {
		return HostHolding{Host: host, Namespace: namespace}
	}
	brought := func(from routing.Key, namespace string, host routing.Host) HostHolding {
		return HostHolding{Host: host, Namespace: namespace, From: from}
	}
	cases := map[string]struct {
		claims []HostClaim
		held   []HostHolding
		want   map[routing.Host]string // "" for a host that nobody owns
	}{
		"the older Ingress names a host first": {
			claims: []HostClaim{claim("bob", 1, "a.test"), claim("alice", 2, "a.test")},
			want:   map[routing.Host]string{"a.test": "alice"},
		},
		"of equal age the first by name": {
			claims: []HostClaim{claim("bob", 1, "a.test"), claim("alice", 1, "a.test")},
			want:   map[routing.Host]string{"a.test": "alice"},
		},
		"order does not move ownership": {
			claims: []HostClaim{ordered(claim("bob", 1, "a.test"), -5), claim("alice", 2, "a.test")},
			want:   map[routing.Host]string{"a.test": "alice"},
		},
		"the oldest Ingress of a namespace counts": {
			claims: []HostClaim{claim("bob", 1, "a.test"), claim("bob", 3, "a.test"), claim("alice", 2, "a.test")},
			want:   map[routing.Host]string{"a.test": "bob"},
		},
		"what is remembered goes before age": {
			claims: []HostClaim{claim("bob", 9, "a.test"), claim("alice", 1, "a.test")},
			held:   []HostHolding{held("alice", "a.test")},
			want:   map[routing.Host]string{"a.test": "alice"},
		},
		"a remembered host that its owner does not name is reserved": {
			claims: []HostClaim{claim("bob", 9, "a.test")},
			held:   []HostHolding{held("alice", "a.test")},
			want:   map[routing.Host]string{"a.test": "alice"},
		},
		"any host is owned like a host": {
			claims: []HostClaim{claim("bob", 1, routing.Any), claim("alice", 2, routing.Any), claim("bob", 1, "b.test")},
			want:   map[routing.Host]string{routing.Any: "alice", "b.test": "bob"},
		},
		"a name below a wildcard of another namespace is foreign": {
			claims: []HostClaim{claim("alice", 2, "*.test"), claim("bob", 1, "b.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.test": ""},
		},
		"unless the name was there before the wildcard": {
			claims: []HostClaim{claim("alice", 2, "*.test"), claim("bob", 3, "b.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.test": "bob"},
		},
		"a name below one's own wildcard": {
			claims: []HostClaim{claim("alice", 2, "*.test"), claim("alice", 1, "b.test"), claim("bob", 1, "b.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.test": "alice"},
		},
		"of two below a foreign wildcard the one that was before it": {
			claims: []HostClaim{claim("alice", 2, "*.test"), claim("bob", 1, "b.test"), claim("carol", 3, "b.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.test": "carol"},
		},
		"a name two labels below is not below": {
			claims: []HostClaim{claim("alice", 2, "*.test"), claim("bob", 1, "b.b.test"), claim("bob", 1, "test"), claim("bob", 1, "*.b.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.b.test": "bob", "test": "bob", "*.b.test": "bob"},
		},
		"a remembered name keeps its place below a wildcard, however old that is": {
			claims: []HostClaim{claim("alice", 9, "*.test"), claim("bob", 1, "b.test")},
			held:   []HostHolding{held("bob", "b.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.test": "bob"},
		},
		"even when the wildcard is remembered too": {
			claims: []HostClaim{claim("alice", 9, "*.test"), claim("bob", 1, "b.test")},
			held:   []HostHolding{held("bob", "b.test"), held("alice", "*.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.test": "bob"},
		},
		"an older name does not take a place below a wildcard that is remembered": {
			claims: []HostClaim{claim("alice", 1, "*.test"), claim("bob", 9, "b.test")},
			held:   []HostHolding{held("alice", "*.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.test": ""},
		},
		"a reserved wildcard keeps others out, too": {
			claims: []HostClaim{claim("bob", 9, "b.test")},
			held:   []HostHolding{held("alice", "*.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.test": ""},
		},
		"a name that is brought is not before a wildcard that is remembered here": {
			claims: []HostClaim{claim("alice", 1, "*.test"), claim("bob", 9, "b.test")},
			held:   []HostHolding{brought("other", "bob", "b.test"), held("alice", "*.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.test": ""},
		},
		"nor before one that is reserved": {
			claims: []HostClaim{claim("bob", 9, "b.test")},
			held:   []HostHolding{brought("other", "bob", "b.test"), held("alice", "*.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.test": ""},
		},
		"the owner of the wildcard names it as well": {
			claims: []HostClaim{claim("alice", 1, "*.test"), claim("alice", 1, "b.test"), claim("bob", 9, "b.test")},
			held:   []HostHolding{brought("other", "bob", "b.test"), held("alice", "*.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.test": "alice"},
		},
		"a grant permits a name that is brought": {
			claims: []HostClaim{claim("alice", 1, "*.test"), granted(claim("bob", 9, "b.test"))},
			held:   []HostHolding{brought("other", "bob", "b.test"), held("alice", "*.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.test": "bob"},
		},
		"a wildcard that is brought takes no name that is remembered here": {
			claims: []HostClaim{claim("bob", 9, "*.test"), claim("alice", 1, "a.test")},
			held:   []HostHolding{brought("other", "bob", "*.test"), held("alice", "a.test"), held("carol", "c.test")},
			want:   map[routing.Host]string{"*.test": "bob", "a.test": "alice", "c.test": "carol"},
		},
		"what comes from one load balancer stays as it was there": {
			claims: []HostClaim{claim("alice", 9, "*.test"), claim("bob", 1, "b.test")},
			held:   []HostHolding{brought("other", "bob", "b.test"), brought("other", "alice", "*.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.test": "bob"},
		},
		"of what comes from two the older Ingress decides": {
			claims: []HostClaim{claim("alice", 9, "*.test"), claim("bob", 1, "b.test"), claim("carol", 10, "c.test")},
			held:   []HostHolding{brought("other", "bob", "b.test"), brought("third", "alice", "*.test"), brought("other", "carol", "c.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.test": "", "c.test": "carol"},
		},
		"a grant of the very host goes before age": {
			claims: []HostClaim{granted(claim("bob", 1, "b.test")), claim("alice", 2, "b.test")},
			want:   map[routing.Host]string{"b.test": "bob"},
		},
		"and before memory": {
			claims: []HostClaim{granted(claim("bob", 1, "b.test")), claim("alice", 2, "b.test")},
			held:   []HostHolding{held("alice", "b.test")},
			want:   map[routing.Host]string{"b.test": "bob"},
		},
		"of two grants the first": {
			claims: []HostClaim{granted(claim("bob", 1, "b.test")), granted(claim("alice", 2, "b.test"))},
			want:   map[routing.Host]string{"b.test": "alice"},
		},
		"a grant permits a name below a wildcard of another namespace": {
			claims: []HostClaim{granted(claim("bob", 1, "b.test")), claim("alice", 2, "*.test")},
			held:   []HostHolding{held("alice", "*.test")},
			want:   map[routing.Host]string{"*.test": "alice", "b.test": "bob"},
		},
		"a grant of a wildcard takes no names that were there before it": {
			claims: []HostClaim{granted(claim("bob", 1, "*.test")), claim("alice", 2, "a.test"), claim("alice", 2, "*.test")},
			want:   map[routing.Host]string{"*.test": "bob", "a.test": "alice"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			turned := slices.Clone(c.claims)
			slices.Reverse(turned)
			for _, claims := range [][]HostClaim{c.claims, turned} {
				owners := ResolveOwners(claims, c.held)
				got := map[routing.Host]string{}
				for host := range c.want {
					got[host] = owners.of[host].namespace
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("owners differ (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	owners := ResolveOwners([]HostClaim{claim("alice", 2, "*.test"), claim("bob", 1, "b.test"), claim("bob", 1, "bob.example")}, nil)
	cases := []struct {
		namespace string
		host      routing.Host
		want      *HostRefusal
	}{
		{"alice", "*.test", nil},
		{"alice", "x.test", nil},
		{"bob", "*.test", &HostRefusal{"alice", "*.test"}},
		{"bob", "b.test", &HostRefusal{"alice", "*.test"}},
		{"alice", "bob.example", &HostRefusal{"bob", "bob.example"}},
		{"bob", "bob.example", nil},
		{"bob", "free.example", nil},
		{"bob", routing.Any, nil},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, owners.refuses(c.namespace, c.host)); diff != "" {
			t.Errorf("%s and %q (-want +got):\n%s", c.namespace, c.host, diff)
		}
	}
	var none *HostOwners
	if none.refuses("bob", "b.test") != nil || none.disputes() != nil || none.owned() != nil {
		t.Error("nil Owners restrict something")
	}
}

func TestDisputes(t *testing.T) {
	above := claim("alice", 2, "*.test")
	below := claim("bob", 1, "b.test")
	reserved := claim("bob", 1, "c.example")
	own := claim("bob", 1, "bob.example")
	former := claim("bob", 1, "d.test")
	former.Former = true
	owners := ResolveOwners([]HostClaim{below, above, reserved, own, former}, []HostHolding{{Host: "c.example", Namespace: "carol"}})
	want := []HostDispute{
		{below, HostRefusal{"alice", "*.test"}, &above, true},
		{reserved, HostRefusal{"carol", "c.example"}, nil, true},
	}
	if diff := cmp.Diff(want, owners.disputes()); diff != "" {
		t.Errorf("disputes (-want +got):\n%s", diff)
	}
	owned := []Owned{{"*.test", "alice", true}, {"bob.example", "bob", true}, {"c.example", "carol", false}}
	if diff := cmp.Diff(owned, owners.owned()); diff != "" {
		t.Errorf("owned (-want +got):\n%s", diff)
	}
}
