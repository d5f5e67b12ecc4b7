package neutral

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
)

// This file serves Ingresses that were written for ingress-nginx.

const nginx = "nginx.ingress.kubernetes.io/"

// forNGINX is an Ingress for ingress-nginx, with a path.
func forNGINX(name, host, path, service string, annotations ...string) *networkingv1.Ingress {
	kind := networkingv1.PathTypeImplementationSpecific
	ing := newIngress(name, 0)
	for i := 0; i < len(annotations); i += 2 {
		ing.Annotations[nginx+annotations[i]] = annotations[i+1]
	}
	ing.Spec.Rules = []networkingv1.IngressRule{{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{
		HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: path, PathType: &kind, Backend: toService(service)}}}}}}
	return ing
}

// classForNGINX has the class of a cluster read Ingresses as ingress-nginx does.
func classForNGINX(o *ingress.Objects) {
	o.IngressClasses[0].Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group),
		Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "nginx"}
	o.ClusterLoadBalancerClasses = []*v1alpha1.ClusterLoadBalancerClass{{ObjectMeta: metav1.ObjectMeta{Name: "nginx"},
		Spec: v1alpha1.LoadBalancerClassSpec{Dialect: v1alpha1.DialectNGINX}}}
}

// TestADialectMeansTheSameEverywhere has each provider answer as nginx does. The answers are those of test/nginx: its stories rewrite,
// app-root, permanent-redirect and whitelist-source-range, and its trap "header, then cookie, then weight".
func TestADialectMeansTheSameEverywhere(t *testing.T) {
	cluster := newCluster(t)
	classForNGINX(&cluster)
	cluster.Ingresses = []*networkingv1.Ingress{
		forNGINX("rewrite", "a.example.com", "/something(/|$)(.*)", "service-0", "rewrite-target", "/$2"),
		forNGINX("start", "b.example.com", "/", "service-1", "app-root", "/start"),
		forNGINX("moved", "c.example.com", "/", "service-1", "permanent-redirect", "https://new.example.com/"),
		forNGINX("inside", "d.example.com", "/", "service-1", "whitelist-source-range", "10.0.0.0/8"),
		forNGINX("stable", "e.example.com", "/", "service-2"),
		forNGINX("try", "e.example.com", "/", "service-3", "canary", "true", "canary-by-header", canary),
	}
	to := func(service, host, target string) string {
		return shares{"shop/" + service: 1}.forward(host, target, 0)
	}
	for _, b := range threeProviders(t) {
		b.settle(t, cluster)
		for _, c := range []struct {
			request
			want string
		}{
			{request{host: "a.example.com", path: "/something"}, to("service-0", "a.example.com", "/")},
			{request{host: "a.example.com", path: "/something/x", query: "y=z"}, to("service-0", "a.example.com", "/x?y=z")},
			{request{host: "a.example.com", path: "/SOMETHING/x"}, to("service-0", "a.example.com", "/x")},
			{request{host: "a.example.com", path: "/somethingelse"}, fixed(404, "")},
			{request{host: "b.example.com", path: "/"}, redirected(302, "http://b.example.com/start")},
			{request{host: "b.example.com", path: "/x"}, to("service-1", "b.example.com", "/x")},
			{request{host: "c.example.com", path: "/x"}, redirected(301, "https://new.example.com/")},
			{request{host: "d.example.com", path: "/"}, fixed(403, "")},
			{request{host: "e.example.com", path: "/"}, to("service-2", "e.example.com", "/")},
			{request{host: "e.example.com", path: "/", canary: "always"}, to("service-3", "e.example.com", "/")},
			{request{host: "e.example.com", path: "/", canary: "never"}, to("service-2", "e.example.com", "/")},
		} {
			c.port, c.method = 80, "GET"
			if said := b.asks(t, c.request, nil); said != c.want {
				t.Errorf("%s: %s is answered with %s, and by nginx with %s", b.name, c.request, said, c.want)
			}
		}
		if refused := b.refusals(); len(refused) > 0 {
			t.Errorf("%s: refused: %v", b.name, refused)
		}
	}
}
