package model

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/nightly"
)

// aboveKey is the load balancer that alice and bob share.
const aboveKey = "fairlead/@edge/internal"

// inEdge is an Ingress of the group, and web a rule of one for paths of a host.
func inEdge(namespace string, age int, rules ...networkingv1.IngressRule) *networkingv1.Ingress {
	class := "fairlead"
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", CreationTimestamp: metav1.NewTime(time.Unix(int64(100_000-age), 0)),
			Annotations: map[string]string{"fairlead.dev/group": "edge"}},
		Spec: networkingv1.IngressSpec{IngressClassName: &class, Rules: rules},
	}
}

func web(host string, paths ...string) networkingv1.IngressRule {
	exact := networkingv1.PathTypeExact
	out := networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}}}
	for _, p := range paths {
		out.HTTP.Paths = append(out.HTTP.Paths, networkingv1.HTTPIngressPath{Path: p, PathType: &exact,
			Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}})
	}
	return out
}

func numbered(n int, format string) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

// edge are Ingresses on a load balancer that namespaces share.
func edge(miss string, ingresses ...*networkingv1.Ingress) ingress.Objects {
	parameters := networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: "ClusterLoadBalancerClass", Name: "params"}
	o := ingress.Objects{Ingresses: ingresses,
		IngressClasses: []*networkingv1.IngressClass{{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}, Spec: networkingv1.IngressClassSpec{Controller: ingress.ControllerName, Parameters: &parameters}}},
		ClusterLoadBalancerClasses: []*v1alpha1.ClusterLoadBalancerClass{{ObjectMeta: metav1.ObjectMeta{Name: "params"},
			Spec: v1alpha1.LoadBalancerClassSpec{HostMiss: miss, Groups: []v1alpha1.SharedGroup{{Name: "edge"}}}}}}
	for _, namespace := range []string{"alice", "bob"} {
		o.Services = append(o.Services, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
			Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1", Ports: []corev1.ServicePort{{Port: 80}}}})
	}
	return o
}

// Routes for any host are repeated for each host below a wildcard of another namespace. Where
// that is too much, the change that makes it so is taken back, and what others are served stays.
func TestAWildcardAboveOthersTakesNothingFromThem(t *testing.T) {
	const hosts, paths = 101, 100 // more than 10,000 in all
	facts := lb.Facts{Certificates: map[string][]lb.CertificateID{}}
	alice := inEdge("alice", 10, web("", numbered(paths, "/p%d")...))
	for _, host := range numbered(hosts, "h%d.ex.test") {
		alice.Spec.Rules = append(alice.Spec.Rules, web(host, "/shop"))
	}
	anyHost := inEdge("alice", 11, web("", numbered(paths, "/p%d")...))
	listing := inEdge("alice", 10, web("", "/shop"))
	listing.Name = "listing"
	listing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: numbered(hosts, "h%d.ex.test")}}
	small := inEdge("alice", 10, web("", "/p0"))
	for _, host := range numbered(hosts, "h%d.ex.test") {
		small.Spec.Rules = append(small.Spec.Rules, web(host, "/shop"))
	}
	bob := inEdge("bob", 1, web("*.ex.test", "/shop"))
	older := inEdge("bob", 20, web("*.ex.test", "/shop"))
	cases := map[string]struct {
		miss      string
		alice     *networkingv1.Ingress
		bob       *networkingv1.Ingress
		served    []*networkingv1.Ingress // before; nil: nothing is remembered
		refused   string
		wildcards string // what answers a host below the wildcard that nobody names
	}{
		"its Ingress is new":         {v1alpha1.HostMissLessSpecific, alice, bob, nil, "bob", "404"},
		"its Ingress is old, edited": {v1alpha1.HostMissLessSpecific, alice, older, []*networkingv1.Ingress{alice, inEdge("bob", 20, web("b.test", "/"))}, "bob", "404"},
		"hosts are only listed":      {v1alpha1.HostMissAnswer, listing, bob, nil, "bob", "alice/web:80"},
		"the others grow":            {v1alpha1.HostMissLessSpecific, alice, bob, []*networkingv1.Ingress{small, bob}, "alice", "bob/web:80"},
	}
	for name, c := range nightly.Cases(t, cases) {
		t.Run(name, func(t *testing.T) {
			built := func(ingresses ...*networkingv1.Ingress) Built {
				if c.alice == listing {
					ingresses = append(ingresses, anyHost)
				}
				o := edge(c.miss, ingresses...)
				if c.served != nil {
					o.Records = served(ingress.Objects{Ingresses: c.served}, aboveKey)
					recorded := o.Records[aboveKey]
					recorded.Hosts = map[routing.Host]string{}
					then := snapshotOf(t, edge(c.miss, c.served...))
					for _, owned := range then.OwnedHosts() {
						recorded.Hosts[owned.Host] = owned.Namespace
					}
					o.Records[aboveKey] = recorded
				}
				return Compile(snapshotOf(t, o), facts, unlimited(lb.ALB()))
			}
			together := built(c.alice, c.bob)
			alone := built(c.alice)
			if c.refused == "alice" {
				alone = built(small)
			}
			for _, host := range numbered(hosts, "h%d.ex.test") {
				for _, path := range []string{"/shop", "/p0", "/p99", "/other"} {
					r := routing.Request{Port: 80, Host: host, Path: path, Method: "GET"}
					before, after := alone.Table.Match(r).Action.Key(), together.Table.Match(r).Action.Key()
					if before != after {
						t.Fatalf("%s%s is answered by %s, and was by %s", host, path, after, before)
					}
				}
			}
			var refused []string
			for _, d := range together.Diagnostics {
				if d.Reason == diag.TooComplex {
					refused = append(refused, d.Source.Namespace)
				}
			}
			if !slices.Equal(refused, []string{c.refused}) {
				t.Errorf("refused %v, and not %s", refused, c.refused)
			}
			if got := together.Table.Match(routing.Request{Port: 80, Host: "else.ex.test", Path: "/shop", Method: "GET"}).Action.Key(); got != c.wildcards {
				t.Errorf("the wildcard is answered by %s, and not %s", got, c.wildcards)
			}
		})
	}
}
