package nginx_test

import (
	"fmt"
	"sync"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/nginx"
	"fairlead.dev/fairlead/model/settings"
)

// A state is what a World is made of.
type state struct {
	ingresses []*networkingv1.Ingress
	config    map[string]string
	service   map[string]string
}

// named returns an Ingress that is read before or after others by its name, with paths of hosts: "host path", and annotations.
func named(name string, paths []string, annotations ...string) *networkingv1.Ingress {
	ing := allowing(annotations)[0]
	ing.Name, ing.Spec.Rules = name, nil
	prefix := networkingv1.PathTypePrefix
	for _, p := range paths {
		var host, path string
		_, _ = fmt.Sscan(p, &host, &path)
		if host == "*" {
			host = ""
		}
		ing.Spec.Rules = append(ing.Spec.Rules, networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: path, PathType: &prefix,
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web",
					Port: networkingv1.ServiceBackendPort{Number: 80}}}}}}}})
	}
	return ing
}

func over(ing *networkingv1.Ingress, hosts ...string) *networkingv1.Ingress {
	ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: hosts, SecretName: "tls"}}
	return ing
}

func of(all ...*networkingv1.Ingress) state { return state{ingresses: all} }

// readingsOf returns what all Ingresses of a state are read as, with their verdicts.
func readingsOf(s state, memory nginx.Memory) (out string) {
	class := v1alpha1.LoadBalancerClassSpec{NGINX: &v1alpha1.NGINX{Config: s.config, Service: s.service}}
	w := nginx.NewWorld(s.ingresses, nginx.ReadConfig(s.config), &class, func(_, _ string, hosts []string) []string { return hosts }, nil, memory)
	for _, ing := range s.ingresses {
		r := w.Read(dialect.Input{Ingress: ing})
		for _, v := range r.Verdicts {
			out += fmt.Sprintf("%s %s %s %s: %s\n  %s\n", ing.Name, v.Key, v.Outcome, v.Message, v.Request.Curl(), v.Before)
		}
	}
	return out
}

// What is remembered about an Ingress is not used once something changes that it depends on, be the Ingress as it was.
func TestMemoryDependsOnWhatDecides(t *testing.T) {
	const published = "arn:aws:acm:eu-west-1:123456789012:certificate/1"
	front := func(protocol string) map[string]string {
		return map[string]string{"service.beta.kubernetes.io/aws-load-balancer-ssl-cert": published,
			"service.beta.kubernetes.io/aws-load-balancer-backend-protocol": protocol}
	}
	web := func() *networkingv1.Ingress { return named("web", []string{"a.example /"}) }
	with := func(s state, config, service map[string]string) state {
		s.config, s.service = config, service
		return s
	}
	refused := []string{"auth-type: basic", "auth-secret: users"}
	for name, c := range map[string]struct{ before, after state }{
		"the ConfigMap": {of(web()), with(of(web()), map[string]string{"use-forwarded-headers": "true"}, nil)},
		"where TLS ends": {with(of(named("web", []string{"a.example /x/"})), map[string]string{"hsts": "false"}, front("ssl")),
			with(of(named("web", []string{"a.example /x/"})), map[string]string{"hsts": "false"}, front("tcp"))},
		"what another load balancer sends": {of(named("first", []string{"a.example /"})), of(named("first", []string{"a.example /"}),
			named("other", []string{"b.example /"}, "enable-cors: true", settings.Group+": own"))},
		"a path that goes first no longer": {
			of(over(named("old", []string{"a.example /x/"}), "a.example"), over(named("a", []string{"a.example /x/", "b.example /"}), "a.example")),
			of(over(named("a", []string{"a.example /x/", "b.example /"}), "a.example"))},
		"another host beside all others": {of(named("all", []string{"* /"})), of(named("all", []string{"* /"}), named("web", []string{"a.example /y"}))},
		"a star beside all others": {of(named("all", []string{"* /"}), named("web", []string{"a.example /y"}, append(refused, "server-alias: b.example")...)),
			of(named("all", []string{"* /"}), named("web", []string{"a.example /y"}, append(refused, "server-alias: *.b.example")...))},
		"what has the host without the refused one": {of(named("a", []string{"*.example /"}), named("refused", []string{"a.example /"}, refused...)),
			of(named("a", []string{"*.example /x"}), named("refused", []string{"a.example /"}, refused...))},
		"its own rules":   {of(over(named("web", []string{"a.example /"}), "a.example")), of(over(named("web", []string{"a.example /y/"}), "a.example"))},
		"its annotations": {of(web()), of(named("web", []string{"a.example /"}, "app-root: /x"))},
	} {
		t.Run(name, func(t *testing.T) {
			var memory sync.Map
			before := readingsOf(c.before, &memory)
			want := readingsOf(c.after, nil)
			if before == want {
				t.Fatalf("nothing changes: %s", want)
			}
			if got := readingsOf(c.after, &memory); got != want {
				t.Errorf("with memory it is read as\n%s\nand without as\n%s", got, want)
			}
		})
	}
}
