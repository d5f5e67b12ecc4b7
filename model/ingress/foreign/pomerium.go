package foreign

import "strings"

// This file is the annotations of Pomerium, which answers nobody but those whom a policy lets in.

var pomerium = controller{
	name:     "Pomerium",
	prefixes: []string{"ingress.pomerium.io"},
	sources: []string{
		"github.com/pomerium/ingress-controller pomerium/ingress_annotations.go",
		"pomerium.com/docs/deploy/k8s/ingress",
	},
	settings: []settings{
		{Restricts, asSignIn, guardedByPomerium, `allow_any_authenticated_user allowed_users allowed_domains allowed_groups allowed_idp_claims policy
			idp_access_token_allowed_audiences identity_provider_secret mcp_server mcp_client mcp_server_* pass_identity_headers
			bearer_token_format cors_allow_preflight`},
		{Restricts, asSignIn, guardedByPomerium, "allow_public_unauthenticated_access"},
		{Restricts, asMutual, nil, "tls_downstream_client_ca_secret"},
		{Restricts, asRewrite, changedByPomerium, "prefix_rewrite regex_rewrite_pattern regex_rewrite_substitution host_path_regex_rewrite_pattern host_path_regex_rewrite_substitution"},
		{Restricts, asHostRewrite, changedByPomerium, "host_rewrite host_rewrite_header preserve_host_header"},
		{Restricts, asRegex, changedByPomerium, "path_regex"},
		{Restricts, asProtocol, changedByPomerium, "secure_upstream"},
		{Restricts, asAttributes, changedByPomerium, "timeout idle_timeout"},
		{Restricts, asListener, changedByPomerium, "set_response_headers set_response_headers_secret rewrite_response_headers"},
		{Restricts, asSignIn, changedByPomerium, `allow_spdy allow_websockets set_request_headers set_request_headers_secret remove_request_headers
			kubernetes_service_account_token_secret tls_client_secret tls_custom_ca_secret tls_server_name tls_skip_verify use_service_proxy
			tcp_upstream udp_upstream subtle_allow_empty_host depends_on upstream_tunnel upstream_tunnel_ssh_policy health_checks healthy_panic_threshold
			load_balancing_policy lb_config outlier_detection circuit_breaker_thresholds`},
		{Harmless, nothing, nil, "name description logo_url"},
	},
}

// guardedByPomerium are all settings of an Ingress that Pomerium serves: it lets nobody in unless a
// policy says so, wherever that policy stands, or the Ingress is public.
var (
	guardedByPomerium = &judgement{"unless allow_public_unauthenticated_access is true", func(u use) Effect { return unless(u.public(), Restricts) }}
	changedByPomerium = &judgement{"unless allow_public_unauthenticated_access is true; then it is a change", func(u use) Effect {
		if u.public() {
			return Changes
		}
		return Restricts
	}}
)

func (u use) public() bool {
	return strings.TrimSpace(strings.ToLower(u.sibling("allow_public_unauthenticated_access"))) == "true"
}
