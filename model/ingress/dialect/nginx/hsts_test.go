package nginx_test

import (
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
