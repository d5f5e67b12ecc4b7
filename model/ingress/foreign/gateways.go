package foreign

import "slices"

// This file has the annotations of API gateways: Tyk, Gravitee, Kong, Apache APISIX and Higress.

var tyk = controller{
	name:     "the Tyk Operator",
	prefixes: []string{"tyk.io"},
	sources:  []string{"tyk.io/docs/product-stack/tyk-operator/tyk-ingress-controller"},
	settings: []settings{
		// an ApiDefinition, which can have authentication and limits of rates
		{Restricts, asSignIn, nil, "template"},
		{Harmless, nothing, nil, "template-kind"},
	},
}

var gravitee = controller{
	name:     "the Gravitee Kubernetes Operator",
	prefixes: []string{"gravitee.io"},
	sources: []string{
		"github.com/gravitee-io/gravitee-kubernetes-operator internal/keys/keys.go",
		"documentation.gravitee.io/gravitee-kubernetes-operator-gko/guides/gravitee-ingress-controller",
	},
	settings: []settings{
		{Restricts, asSignIn, nil, "template"}, // an API definition, which can have plans and policies
		{Harmless, nothing, nil, "last-spec-hash"},
	},
}

var kong = controller{
	name: "the Kong Ingress Controller",
	prefixes: []string{"konghq.com", "configuration.konghq.com", "plugins.konghq.com",
		"ingress.konghq.com"},
	sources: []string{
		"github.com/Kong/kubernetes-ingress-controller internal/annotations/annotations.go",
		"docs.konghq.com/kubernetes-ingress-controller/latest/reference/annotations",
	},
	onServices: "*",
	settings: []settings{
		{Restricts, asSignIn, nil, "plugins"},
		{Restricts, asWhen, nil, "methods headers.* snis"},
		{Restricts, asWhen, nil, "override"}, // a KongIngress can have methods, headers and protocols
		{Restricts, asSecurePorts, onlySecure("if it names neither http, nor grpc without https",
			func(u use) bool {
				named := u.list()
				return u.value != "" && !slices.Contains(named, "http") && (slices.Contains(named, "https") ||
					!slices.Contains(named, "grpc"))
			}), "protocols"},

		{Changes, nothing, nil, "upstream-policy headers-separator"},
		{Changes, asSecureRedirect, nil, "https-redirect-status-code"},
		{Changes, asRewrite, nil, "strip-path path rewrite path-handling"},
		{Changes, asRegex, nil, "regex-prefix"},
		{Changes, nothing, nil, "regex-priority preserve-host"},
		{Changes, asHostRewrite, nil, "host-header"},
		{Changes, asRules, nil, "host-aliases"},
		{Changes, asProtocol, nil, "protocol"},
		{Changes, asTimeout, nil, "read-timeout write-timeout"},
		{Changes, nothing, nil, "connect-timeout retries client-cert tls-verify tls-verify-depth " +
			"ca-certificates-secrets ca-certificates-secret ca-certificates-configmap request-buffering " +
			"response-buffering"},
		{Harmless, nothing, nil, "tags publish-service gatewayclass-unmanaged"},
	},
}

var apisix = controller{
	name:     "the Apache APISIX Ingress Controller",
	prefixes: []string{"k8s.apisix.apache.org"},
	sources: []string{
		"github.com/apache/apisix-ingress-controller docs/en/latest/concepts/annotations.md",
		"github.com/apache/apisix-ingress-controller internal/webhook/v1/ingress_webhook.go",
	},
	settings: []settings{
		{Restricts, asSignIn, unlessOff, "auth-type auth-ssl-verify"},
		{Restricts, asSignIn, nil, `auth-uri auth-request-headers auth-upstream-headers
			auth-client-headers plugin-config-name csrf-key`},
		{Restricts, asInbound, allowedRanges, "allowlist-source-range"},
		{Restricts, asWebRule, nil, "blocklist-source-range"},
		{Restricts, asWhen, nil, "http-allow-methods http-block-methods"},
		{Changes, nothing, switched, "enable-csrf enable-websocket"},
		{Restricts, asSecureRedirect, redirecting, "http-to-https"},
		{Changes, asRedirect, nil, "http-redirect http-redirect-code"},
		{Changes, asRewrite, nil, "rewrite-target rewrite-target-regex rewrite-target-regex-template"},
		{Changes, asRegex, switched, "use-regex"},
		{Changes, asListener, nil, "enable-cors cors-* enable-response-rewrite response-rewrite-*"},
		{Changes, asProtocol, nil, "upstream-scheme"},
		{Changes, asTimeout, nil, "upstream-connect-timeout upstream-read-timeout upstream-send-timeout"},
		{Changes, nothing, nil, "upstream-retries upstream-resolve-granularity svc-namespace"},
	},
}

// higressSettings has the settings that Higress adds to those of ingress-nginx, or reads in another
// way.
var higressSettings = []settings{
	{Restricts, asInbound, allowedRanges, "whitelist-source-range"},
	{Restricts, asWebRule, nil, "blacklist-source-range domain-blacklist-source-range"},
	{Restricts, asInbound, allowedRanges, "domain-whitelist-source-range"},
	{Restricts, asWebRule, unlessOff, "route-limit-rps route-limit-rpm rate-limit-fallback-*"},
	{Restricts, asWhen, nil, "match-method exact-match-header-* regex-match-header-* " +
		"prefix-match-header-* exact-match-query-* regex-match-query-* prefix-match-query-* " +
		"exact-match-pseudo-header-*"},
	{Changes, nothing, nil, "route-limit-burst-multiplier destination timeout retry-on tls-min-protocol-version tls-max-protocol-version ssl-cipher enable-rewrite-* rewrite-path"},
	{Changes, asHostRewrite, nil, "request-header-control-* response-header-control-*"},
	{Changes, nothing, nil, "ignore-path-case mirror-percentage mirror-target-service warmup wasmplugin-* mcp-server* rpc-destination-name canary-by-header-*"},
	{Harmless, nothing, nil, "resource-definer comment"},
}

var higress = controller{
	name:     "Higress, and the MSE Ingress of Alibaba Cloud",
	prefixes: []string{"higress.io", "mse.ingress.kubernetes.io"},
	sources: []string{
		"github.com/alibaba/higress pkg/ingress/kube/annotations",
		"higress.cn/docs/latest/user/annotation",
	},
	settings: slices.Concat(higressSettings, nginxSettings),
}
