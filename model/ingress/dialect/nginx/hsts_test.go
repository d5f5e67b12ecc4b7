package nginx_test

import (
	"reflect"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/nginx"
	"fairlead.dev/fairlead/model/settings"
)

// The port for HTTPS sends Strict-Transport-Security as ingress-nginx does, unless something else decides about it.
func TestHTTPSIsAskedForWithTheHeader(t *testing.T) {
	const attribute = "443:routing.http.response.strict_transport_security.header_value="
	service := func(protocol string) map[string]string {
		return map[string]string{"service.beta.kubernetes.io/aws-load-balancer-ssl-cert": "arn:aws:acm:eu-west-1:123456789012:certificate/1",
			"service.beta.kubernetes.io/aws-load-balancer-backend-protocol": protocol}
	}
	for name, c := range map[string]struct {
		of   v1alpha1.LoadBalancerClassSpec
		own  map[string]string
		tls  bool
		want string
	}{
		"by default":             {tls: true, want: attribute + "max-age=31536000; includeSubDomains"},
		"without HTTPS":          {},
		"as the ConfigMap says":  {of: configured(map[string]string{"hsts-max-age": "5", "hsts-include-subdomains": "false", "hsts-preload": "true"}), tls: true, want: attribute + "max-age=5; preload"},
		"off":                    {of: configured(map[string]string{"hsts": "false"}), tls: true},
		"TLS ends in front":      {of: v1alpha1.LoadBalancerClassSpec{NGINX: &v1alpha1.NGINX{Service: service("http")}}, tls: true},
		"and begins again there": {of: v1alpha1.LoadBalancerClassSpec{NGINX: &v1alpha1.NGINX{Service: service("ssl")}}, want: attribute + "max-age=31536000; includeSubDomains"},
		"the class has it": {of: v1alpha1.LoadBalancerClassSpec{Ports: []v1alpha1.PortSettings{{Port: 443, Attributes: map[string]string{
			"routing.http.response.strict_transport_security.header_value": "max-age=1"}}}}, tls: true},
		"the class has it for another port": {of: v1alpha1.LoadBalancerClassSpec{Ports: []v1alpha1.PortSettings{{Port: 8443, Attributes: map[string]string{
			"routing.http.response.strict_transport_security.header_value": "max-age=1"}}}}, tls: true, want: attribute + "max-age=31536000; includeSubDomains"},
		"beside others":         {own: map[string]string{settings.ListenerAttributes: "80:a=b"}, tls: true, want: "80:a=b," + attribute + "max-age=31536000; includeSubDomains"},
		"the author says it":    {own: map[string]string{settings.ListenerAttributes: attribute + "max-age=7"}, tls: true, want: attribute + "max-age=7"},
		"the author says ports": {own: map[string]string{settings.ListenPorts: "HTTP:80,HTTPS:8443"}, tls: true},
	} {
		t.Run(name, func(t *testing.T) {
			ing := many(1)[0]
			if ing.Spec.TLS = nil; c.tls {
				ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{ing.Spec.Rules[0].Host}, SecretName: "tls"}}
			}
			for key, value := range c.own {
				ing.Annotations[key] = value
			}
			config := nginx.DefaultConfig()
			if c.of.NGINX != nil {
				config = nginx.ReadConfig(c.of.NGINX.Config)
			}
			w := nginx.NewWorld([]*networkingv1.Ingress{ing}, config, &c.of, func(_, _ string, hosts []string) []string { return hosts }, nil, nil)
			read := w.Read(dialect.Input{Ingress: ing})
			if got := read.Annotations[settings.ListenerAttributes]; got != c.want {
				t.Errorf("it is read with %q, want %q", got, c.want)
			}
		})
	}
}

func configured(config map[string]string) v1alpha1.LoadBalancerClassSpec {
	return v1alpha1.LoadBalancerClassSpec{NGINX: &v1alpha1.NGINX{Config: config}}
}

// Of a class with groups across namespaces, the class says so, since its Ingresses do not decide about the ports of others.
func TestAClassWithGroupsHasTheHeader(t *testing.T) {
	const name, year = "routing.http.response.strict_transport_security.header_value", "max-age=31536000; includeSubDomains"
	groups := []v1alpha1.SharedGroup{{Name: "all"}}
	ended := func(protocol string) *v1alpha1.NGINX {
		return &v1alpha1.NGINX{Service: map[string]string{"service.beta.kubernetes.io/aws-load-balancer-ssl-cert": "arn",
			"service.beta.kubernetes.io/aws-load-balancer-backend-protocol": protocol}}
	}
	ports := func(port int32, name, value string) []v1alpha1.PortSettings {
		return []v1alpha1.PortSettings{{Port: port, TLSPolicy: "kept", Attributes: map[string]string{name: value}}}
	}
	for what, c := range map[string]struct {
		of         v1alpha1.LoadBalancerClassSpec
		want       string
		ports, has int // ports of the class then, and attributes of 443
	}{
		"by default":             {v1alpha1.LoadBalancerClassSpec{Groups: groups}, year, 1, 1},
		"without groups":         {v1alpha1.LoadBalancerClassSpec{}, "", 0, 0},
		"off":                    {v1alpha1.LoadBalancerClassSpec{Groups: groups, NGINX: configured(map[string]string{"hsts": "false"}).NGINX}, "", 0, 0},
		"as the ConfigMap says":  {v1alpha1.LoadBalancerClassSpec{Groups: groups, NGINX: configured(map[string]string{"hsts-max-age": "5"}).NGINX}, "max-age=5; includeSubDomains", 1, 1},
		"TLS ends in front":      {v1alpha1.LoadBalancerClassSpec{Groups: groups, NGINX: ended("http")}, "", 0, 0},
		"and begins again there": {v1alpha1.LoadBalancerClassSpec{Groups: groups, NGINX: ended("ssl")}, year, 1, 1},
		"the class has it":       {v1alpha1.LoadBalancerClassSpec{Groups: groups, Ports: ports(443, name, "max-age=1")}, "max-age=1", 1, 1},
		"the class has others":   {v1alpha1.LoadBalancerClassSpec{Groups: groups, Ports: ports(443, "a", "b")}, year, 1, 2},
		"on another port":        {v1alpha1.LoadBalancerClassSpec{Groups: groups, Ports: ports(8443, name, "max-age=1")}, year, 2, 1},
	} {
		t.Run(what, func(t *testing.T) {
			before := c.of.DeepCopy()
			got, has := "", 0
			out := nginx.Defaults(c.of)
			for i, p := range out.Ports {
				if p.Port == 443 {
					got, has = p.Attributes[name], len(p.Attributes)
				}
				if i < len(before.Ports) && p.TLSPolicy != "kept" {
					t.Errorf("port %d has lost its other settings", p.Port)
				}
			}
			if got != c.want || len(out.Ports) != c.ports || has != c.has {
				t.Errorf("it has %q, %d ports and %d attributes of 443, want %q, %d and %d", got, len(out.Ports), has, c.want, c.ports, c.has)
			}
			if !reflect.DeepEqual(&c.of, before) {
				t.Error("the class that was given is changed")
			}
		})
	}
}
