package ingress

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

func TestWhatTargetsSpeak(t *testing.T) {
	app := func(protocol string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.Ports[0].AppProtocol = &protocol }
	}
	cases := map[string]struct {
		service func(*corev1.Service)
		says    map[string]string
		class   v1alpha1.HealthCheck
		want    routing.Backend
		told    []string
	}{
		"nobody says anything": {service: func(*corev1.Service) {},
			want: routing.Backend{ID: "shop/web:80", Protocol: "HTTP", Version: "HTTP1", Health: routing.HealthCheck{Path: "/", Protocol: "HTTP", SuccessCodes: "200"}}},
		"the Service says TLS, and checks follow": {service: app("https"),
			want: routing.Backend{ID: "shop/web:80/https", Protocol: "HTTPS", Version: "HTTP1", Health: routing.HealthCheck{Path: "/", Protocol: "HTTPS", SuccessCodes: "200"}}},
		"the Service says HTTP/2 in the clear": {service: app("kubernetes.io/h2c"),
			want: routing.Backend{ID: "shop/web:80/http2", Protocol: "HTTP", Version: "HTTP2", Health: routing.HealthCheck{Path: "/", Protocol: "HTTP", SuccessCodes: "200"}}},
		"the Service says gRPC, which has codes of its own": {service: app("grpc"), class: v1alpha1.HealthCheck{SuccessCodes: "200-399"},
			want: routing.Backend{ID: "shop/web:80/grpc", Protocol: "HTTP", Version: "GRPC", Health: routing.HealthCheck{Path: "/AWS.ALB/healthcheck", Protocol: "HTTP", SuccessCodes: "12"}}},
		"the Service says what is no HTTP": {service: app("example.com/memcached"),
			want: routing.Backend{ID: "shop/web:80", Protocol: "HTTP", Version: "HTTP1", Health: routing.HealthCheck{Path: "/", Protocol: "HTTP", SuccessCodes: "200"}}},
		"the Ingress knows better": {service: app("kubernetes.io/h2c"), says: map[string]string{"backend-protocol": "HTTPS", "backend-protocol-version": "GRPC", "health-check-success-codes": "0-5,12", "health-check-protocol": "HTTP"},
			want: routing.Backend{ID: "shop/web:80/https/grpc", Protocol: "HTTPS", Version: "GRPC", Health: routing.HealthCheck{Path: "/AWS.ALB/healthcheck", Protocol: "HTTP", SuccessCodes: "0-5,12"}}},
		"codes of the other kind": {service: app("grpc"), says: map[string]string{"health-check-success-codes": "200"},
			want: routing.Backend{ID: "shop/web:80/grpc", Protocol: "HTTP", Version: "GRPC", Health: routing.HealthCheck{Path: "/AWS.ALB/healthcheck", Protocol: "HTTP", SuccessCodes: "12"}},
			told: []string{"warning SettingConflict Ingress shop/web metadata.annotations[fairlead.dev/health-check-success-codes]"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			with := []func(*networkingv1.Ingress){defaulted(to("web:80"))}
			for annotation, value := range c.says {
				with = append(with, annotated(annotation, value))
			}
			config, found := translated(t, nil, aService("shop/web:80", c.service),
				aClass("fairlead", v1alpha1.LoadBalancerClassSpec{HealthCheck: c.class}), anIngress("shop/web", with...))
			b := config.Backends[c.want.ID]
			compare(t, "backend", routing.Backend{ID: b.ID, Protocol: b.Protocol, Version: b.Version,
				Health: routing.HealthCheck{Path: b.Health.Path, Protocol: b.Health.Protocol, SuccessCodes: b.Health.SuccessCodes}}, c.want)
			compare(t, "told", told(found), c.told)
		})
	}
}
