package foreign

import "strings"

// This file has the annotations of the controllers that run Envoy (Contour, Ambassador, Cilium and
// Pomerium), and of that of ngrok.

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
		{Changes, asTimeout, nil, "response-timeout"},
		{Changes, asTLSPolicy, nil, "tls-minimum-protocol-version tls-maximum-protocol-version tls-cert-namespace"},
		{Changes, nothing, nil, "websocket-routes"},
		{Changes, asProtocol, nil, "upstream-protocol.*"},
		{Changes, asClass, nil, "ingress.class"},
	},
}

var ambassador = controller{
	name:     "Emissary-ingress, which was Ambassador",
	prefixes: []string{"getambassador.io"},
	sources: []string{
		"github.com/emissary-ingress/emissary docs/topics/running/ingress-controller.md",
	},
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
		{Restricts, asSecureRedirect, redirecting, "force-https"},
		{Restricts, asSecurePorts, redirecting, "tls-passthrough"},
		{Changes, asGroup, nil, "loadbalancer-mode"},
		{Changes, asTimeout, nil, "request-timeout backend-request-timeout"},
		{Changes, nothing, nil, "loadbalancer-class service-type service-external-traffic-policy insecure-node-port secure-node-port host-listener-port tcp-keep-alive* websocket"},
	},
}

var ngrok = controller{
	name:     "the ngrok operator",
	prefixes: []string{"k8s.ngrok.com"},
	sources:  []string{"github.com/ngrok/ngrok-operator internal/annotations/annotations.go"},
	settings: []settings{
		{Restricts, asSignIn, nil, "modules traffic-policy"},
		{Changes, nothing, nil, "pooling-enabled mapping-strategy domain url computed-url bindings " +
			"app-protocols"},
		{Harmless, nothing, nil, "description metadata"},
	},
}

var pomerium = controller{
	name:     "Pomerium",
	prefixes: []string{"ingress.pomerium.io"},
	sources: []string{
		"github.com/pomerium/ingress-controller pomerium/ingress_annotations.go",
		"pomerium.com/docs/deploy/k8s/ingress",
	},
	settings: []settings{
		{Restricts, asSignIn, guardedByPomerium, `allow_any_authenticated_user allowed_users
			allowed_domains allowed_groups allowed_idp_claims policy idp_access_token_allowed_audiences
			identity_provider_secret mcp_server mcp_client mcp_server_* pass_identity_headers
			bearer_token_format cors_allow_preflight`},
		{Restricts, asSignIn, guardedByPomerium, "allow_public_unauthenticated_access"},
		{Restricts, asMutual, nil, "tls_downstream_client_ca_secret"},
		{Restricts, asRewrite, changedByPomerium, "prefix_rewrite regex_rewrite_pattern regex_rewrite_substitution host_path_regex_rewrite_pattern host_path_regex_rewrite_substitution"},
		{Restricts, asHostRewrite, changedByPomerium, "host_rewrite host_rewrite_header preserve_host_header"},
		{Restricts, asRegex, changedByPomerium, "path_regex"},
		{Restricts, asProtocol, changedByPomerium, "secure_upstream"},
		{Restricts, asTimeout, changedByPomerium, "timeout idle_timeout"},
		{Restricts, asListener, changedByPomerium, "set_response_headers set_response_headers_secret rewrite_response_headers"},
		{Restricts, asSignIn, changedByPomerium, `allow_spdy allow_websockets set_request_headers
			set_request_headers_secret remove_request_headers kubernetes_service_account_token_secret
			tls_client_secret tls_custom_ca_secret tls_server_name tls_skip_verify use_service_proxy
			tcp_upstream udp_upstream subtle_allow_empty_host depends_on upstream_tunnel
			upstream_tunnel_ssh_policy health_checks healthy_panic_threshold load_balancing_policy lb_config
			outlier_detection circuit_breaker_thresholds`},
		{Harmless, nothing, nil, "name description logo_url"},
	},
}

// guardedByPomerium has the settings of Pomerium: all restrict, as it admits requests only by a
// policy, which may be elsewhere, unless the Ingress is public.
var (
	guardedByPomerium = &judgement{"unless allow_public_unauthenticated_access is true",
		func(u use) Effect { return harmlessIf(u.public(), Restricts) }}
	changedByPomerium = &judgement{"unless allow_public_unauthenticated_access is true; then it is " +
		"a change", func(u use) Effect {
		if u.public() {
			return Changes
		}
		return Restricts
	}}
)

func (u use) public() bool {
	return strings.TrimSpace(strings.ToLower(u.sibling("allow_public_unauthenticated_access"))) ==
		"true"
}
