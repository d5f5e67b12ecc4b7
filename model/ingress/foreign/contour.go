package foreign

// This file is the annotations of the controllers that drive Envoy: Contour, Ambassador and Cilium;
// and that of ngrok.

var contour = controller{
	name:     "Contour",
	prefixes: []string{"projectcontour.io", "contour.heptio.com"},
	sources: []string{
		"github.com/projectcontour/contour internal/annotation/annotations.go",
		"projectcontour.io/docs/main/config/annotations",
	},
	onServices: "*",
	settings: []settings{
		{Changes, nothing, nil, "max-connections max-pending-requests max-requests max-retries num-retries retry-on per-try-timeout per-host-max-connections"},
		{Changes, asAttributes, nil, "response-timeout"},
		{Changes, asTLSPolicy, nil, "tls-minimum-protocol-version tls-maximum-protocol-version tls-cert-namespace"},
		{Changes, nothing, nil, "websocket-routes"},
		{Changes, asProtocol, nil, "upstream-protocol.*"},
		{Changes, asClass, nil, "ingress.class"},
	},
}

var ambassador = controller{
	name:     "Emissary-ingress, which was Ambassador",
	prefixes: []string{"getambassador.io"},
	sources:  []string{"github.com/emissary-ingress/emissary docs/topics/running/ingress-controller.md"},
	// On a Service it can be a Mapping, a RateLimitService or an AuthService.
	onServices: "config",
	settings: []settings{
		{Restricts, nothing, nil, "config"}, // configuration of any kind, authentication included
		{Changes, nothing, nil, "ambassador-id"},
		{Harmless, nothing, nil, "resource-downloaded resource-changed"},
	},
}

var cilium = controller{
	name:     "Cilium",
	prefixes: []string{"ingress.cilium.io"},
	sources:  []string{"github.com/cilium/cilium operator/pkg/ingress/annotations/annotations.go"},
	settings: []settings{
		{Changes, asSecureRedirect, switched, "force-https"},
		{Changes, nothing, switched, "tls-passthrough"},
		{Changes, asGroup, nil, "loadbalancer-mode"},
		{Changes, asAttributes, nil, "request-timeout backend-request-timeout"},
		{Changes, nothing, nil, "loadbalancer-class service-type service-external-traffic-policy insecure-node-port secure-node-port host-listener-port tcp-keep-alive* websocket"},
	},
}

var ngrok = controller{
	name:     "the ngrok operator",
	prefixes: []string{"k8s.ngrok.com"},
	sources:  []string{"github.com/ngrok/ngrok-operator internal/annotations/annotations.go"},
	settings: []settings{
		{Restricts, asSignIn, nil, "modules traffic-policy"},
		{Changes, nothing, nil, "pooling-enabled mapping-strategy domain url computed-url bindings app-protocols"},
		{Harmless, nothing, nil, "description metadata"},
	},
}
