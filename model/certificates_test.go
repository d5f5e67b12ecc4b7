package model

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// TestCertificatesThatACMHasLeaveNoIngressOut: in the alb dialect, listeners have all ACM certificates of a host. A certificate
// beyond the quota is not attached: each Ingress keeps its hosts, and listeners keep the certificates that they have.
func TestCertificatesThatACMHasLeaveNoIngressOut(t *testing.T) {
	all := make([]lb.CertificateID, 30)
	for i, id := range numbered(len(all), "acm-%d") {
		all[i] = lb.CertificateID(id)
	}
	for name, c := range map[string]struct {
		shown, want int // of the certificates of the host
	}{"none is attached": {0, 1}, "some are": {20, 20}, "all that have room": {26, 26}} {
		t.Run(name, func(t *testing.T) {
			ing := inEdge("shop", 1, web("a.test", "/a"))
			ing.Annotations[alb.Prefix+"listen-ports"] = `[{"HTTP": 80}, {"HTTPS": 443}]`
			o := edge("", ing)
			o.ClusterLoadBalancerClasses[0].Spec = v1alpha1.LoadBalancerClassSpec{Dialect: v1alpha1.DialectALB,
				Groups: []v1alpha1.SharedGroup{{Name: "edge"}}}
			o.Services[0].Namespace = "shop"
			facts := lb.Facts{Certificates: map[string][]lb.CertificateID{"a.test": all}, Shown: all[:c.shown],
				InUse: lb.Counts{Certificates: max(0, c.shown-1)}}
			built := Compile(snapshotOf(t, o), facts, lb.ALB())
			for _, port := range []int32{80, 443} {
				if got := built.Table.Match(routing.Request{Port: port, Host: "a.test", Path: "/a"}); got.Route == nil {
					t.Errorf("port %d answers %s: %v", port, got.Action.Key(), built.Diagnostics)
				}
			}
			for _, l := range built.LoadBalancer.Listeners {
				if l.Port == 443 && len(l.Certificates) != c.want {
					t.Errorf("%d certificates are attached, want %d: %v", len(l.Certificates), c.want, l.Certificates)
				}
			}
			if !slices.ContainsFunc(built.Diagnostics, func(d diag.Diagnostic) bool {
				return d.Reason == diag.QuotaExceeded && d.Severity == diag.Warning
			}) {
				t.Errorf("it says %v", built.Diagnostics)
			}
		})
	}
}

// TestManyCertificatesOfManyHosts: many hosts have the same certificates, and each of them is compared once with the hosts of other
// namespaces. Allocations are counted, as they are the same on a busy machine.
func TestManyCertificatesOfManyHosts(t *testing.T) {
	of := func(certificates int) float64 {
		facts := lb.Facts{Certificates: map[string][]lb.CertificateID{}, Names: map[lb.CertificateID][]string{}}
		var all []lb.CertificateID
		for _, id := range numbered(certificates, "acm-%d") {
			all = append(all, lb.CertificateID(id))
			facts.Names[lb.CertificateID(id)] = []string{"*.a.test", "a.test"}
		}
		o := edge("", inEdge("alice", 1), inEdge("bob", 2))
		o.ClusterLoadBalancerClasses[0].Spec = v1alpha1.LoadBalancerClassSpec{Dialect: v1alpha1.DialectALB,
			Groups: []v1alpha1.SharedGroup{{Name: "edge"}}}
		for _, ing := range o.Ingresses {
			ing.Annotations[alb.Prefix+"listen-ports"] = `[{"HTTP": 80}, {"HTTPS": 443}]`
			for _, host := range numbered(300, ing.Namespace+"%d.a.test") {
				ing.Spec.Rules = append(ing.Spec.Rules, web(host, "/a"))
				facts.Certificates[host] = all
			}
		}
		s := snapshotOf(t, o)
		return testing.AllocsPerRun(1, func() { Compile(s, facts, unlimited(lb.ALB())) })
	}
	if one, many := of(1), of(25); many > 1.5*one {
		t.Errorf("with 25 certificates there are %.0f allocations, and %.0f with one", many, one)
	}
}
