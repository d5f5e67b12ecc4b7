package foreign

import "slices"

// This file is the annotations of the Kong Ingress Controller.

var kong = controller{
	name:     "the Kong Ingress Controller",
	prefixes: []string{"konghq.com", "configuration.konghq.com", "plugins.konghq.com", "ingress.konghq.com"},
	sources: []string{
		"github.com/Kong/kubernetes-ingress-controller internal/annotations/annotations.go",
		"docs.konghq.com/kubernetes-ingress-controller/latest/reference/annotations",
	},
	onServices: "*",
	settings: []settings{
		{Restricts, asSignIn, nil, "plugins"},
		{Restricts, asWhen, nil, "methods headers.* snis"},
		{Restricts, asWhen, nil, "override"}, // a KongIngress can have methods, headers and protocols
		{Restricts, asSecurePorts, onlySecure("if it names neither http, nor grpc without https", func(u use) bool {
			named := u.list()
			return u.value != "" && !slices.Contains(named, "http") && (slices.Contains(named, "https") || !slices.Contains(named, "grpc"))
		}), "protocols"},

		{Changes, nothing, nil, "upstream-policy headers-separator"},
		{Changes, asSecureRedirect, nil, "https-redirect-status-code"},
		{Changes, asRewrite, nil, "strip-path path rewrite path-handling"},
		{Changes, asRegex, nil, "regex-prefix"},
		{Changes, nothing, nil, "regex-priority preserve-host"},
		{Changes, asHostRewrite, nil, "host-header"},
		{Changes, asRules, nil, "host-aliases"},
		{Changes, asProtocol, nil, "protocol"},
		{Changes, asAttributes, nil, "read-timeout write-timeout"},
		{Changes, nothing, nil, "connect-timeout retries client-cert tls-verify tls-verify-depth ca-certificates-secrets ca-certificates-secret ca-certificates-configmap request-buffering response-buffering"},
		{Harmless, nothing, nil, "tags publish-service gatewayclass-unmanaged"},
	},
}
