package alb

import "testing"

// The first two are in the controller's own test, of a cluster without a name. The digests of the others are what
// `printf %s prodshop/webinternal | sha256sum | cut -c1-10` prints.
func TestNamesOfLoadBalancers(t *testing.T) {
	for _, c := range []struct{ cluster, namespace, name, group, scheme, want string }{
		{"", "awesome-ns", "ing-1", "", "internet-facing", "k8s-awesomen-ing1-43b698093c"},
		{"", "awesome-ns", "ing-1", "explicit-group", "internal", "k8s-explicitgroup-5bf9e53c23"},
		{"prod", "shop", "web", "", "internal", "k8s-shop-web-ffb4a5f1ff"},
		{"prod", "shop", "web", "", "internet-facing", "k8s-shop-web-0c9cb52896"},
		{"staging", "shop", "web", "", "internal", "k8s-shop-web-987ec7f5df"},
		{"prod", "shop", "web", "all", "internet-facing", "k8s-all-3c149103c8"},
		{"prod", "pay", "api", "all", "internet-facing", "k8s-all-3c149103c8"},
		{"prod", "shop", "web", "the-shop.of-everything-else.test", "internal", "k8s-theshopofeverythi-9a40615704"},
		{"prod", "a-very-long-namespace", "a-very-long-ingress.name", "", "internal", "k8s-averylon-averylon-0ae045863d"},
		{"prod.example.com", "one", "a.b-c.d", "", "internal", "k8s-one-abcd-932e48125b"},
		{"prod", "1", "2", "", "internal", "k8s-1-2-db3ac40830"},
	} {
		got := LoadBalancerName(c.cluster, Stack(c.namespace, c.name, c.group), c.scheme)
		if got != c.want {
			t.Errorf("%s/%s of group %q in %q, %s: the name is %s, want %s", c.namespace, c.name, c.group, c.cluster, c.scheme, got, c.want)
		}
		if len(got) > 32 {
			t.Errorf("%s has %d characters", got, len(got))
		}
	}
}
