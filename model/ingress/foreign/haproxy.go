package foreign

// This file has the annotations of the controllers that run HAProxy: that of HAProxy Technologies,
// that of the community, the router of OpenShift, and Voyager.

var haproxyTechnologiesSettings = []settings{
	// Only basic-auth counts, and nothing without it: pkg/annotations/ingress/basicAuth.go.
	{Restricts, asSignIn, unlessOff, "auth-type"},
	{Restricts, asSignIn, nil, "auth-secret auth-realm"},
	{Restricts, asInbound, allowedRanges, "allow-list whitelist"},
	{Restricts, asWebRule, nil, "deny-list blacklist"},
	{Restricts, asWebRule, unlessOff, "rate-limit rate-limit-requests rate-limit-period rate-limit-status-code"},
	{Restricts, asMutual, nil, "client-ca"},
	{Restricts, asMutual, unlessOff, "client-crt-optional client-strict-sni"},
	{Restricts, asWhen, nil, "route-acl"},
	{Restricts, nothing, nil, "backend-config-snippet frontend-config-snippet global-config-snippet"},

	{Changes, nothing, nil, "rate-limit-size rate-limit-whitelist"},
	{Restricts, asSecureRedirect, redirecting, "ssl-redirect"},
	{Changes, asSecureRedirect, nil, "ssl-redirect-code ssl-redirect-port"},
	{Changes, asRedirect, nil, "request-redirect request-redirect-code"},
	{Changes, asRewrite, nil, "path-rewrite"},
	{Changes, asHostRewrite, nil, "set-host"},
	{Restricts, asSecurePorts, redirecting, "ssl-passthrough"},
	{Restricts, asTLS, certified, "ssl-certificate"},
	{Changes, asProtocol, switched, "server-ssl"},
	{Changes, asVersion, nil, "server-proto"},
	{Changes, nothing, nil, "server-ca server-crt"},
	{Changes, asListener, nil, "cors-* response-set-header"},
	{Changes, nothing, nil, "request-set-header src-ip-header forwarded-for"},
	{Changes, asTargetAttributes, nil, "load-balance"},
	{Changes, asSticky, nil, "cookie-persistence cookie-persistence-no-dynamic"},
	{Changes, asCheckPath, nil, "check check-http check-interval"},
	{Changes, asTimeout, nil, "timeout-client timeout-server timeout-tunnel timeout-http-keep-alive"},
	{Changes, nothing, nil, `timeout-* pod-maxconn maxconn scale-server-slots send-proxy-protocol
		proxy-protocol standalone-backend ingress.class cr-backend tls-alpn quic-alt-svc-max-age
		http-connection-mode http-keep-alive http-server-close hard-stop-after nbthread clean-certs
		generate-certificates-signer backend-name`},
	{Harmless, nothing, nil, "request-capture request-capture-len dontlognull logasap log-format log-format-tcp syslog-server stats-config-snippet"},
}

var haproxyTechnologies = controller{
	name:     "HAProxy Kubernetes Ingress Controller",
	prefixes: []string{"haproxy.org", "haproxy.com"},
	sources:  []string{"github.com/haproxytech/kubernetes-ingress documentation/annotations.md"},
	onServices: `check check-http check-interval backend-config-snippet cookie-persistence*
		forwarded-for load-balance pod-maxconn route-acl send-proxy-protocol server-* scale-server-slots
		ssl-passthrough standalone-backend timeout-check timeout-server`,
	settings: haproxyTechnologiesSettings,
}

var haproxyIngressSettings = []settings{
	{Restricts, asSignIn, unlessOff, "auth-type"},
	{Restricts, asSignIn, nil, `auth-secret auth-realm auth-url auth-signin auth-method auth-headers
		auth-headers-request auth-headers-fail auth-headers-succeed auth-proxy auth-external-placement
		oauth oauth-headers oauth-uri-prefix`},
	{Restricts, asMutual, unlessOff, "auth-tls-verify-client auth-tls-strict auth-tls-cert-header"},
	{Restricts, asMutual, besideVerify, "auth-tls-secret auth-tls-error-page"},
	{Restricts, asInbound, allowedRanges, "allowlist-source-range whitelist-source-range"},
	{Restricts, asWebRule, nil, "denylist-source-range"},
	{Restricts, asWebRule, unlessOff, "limit-connections limit-rps"},
	{Restricts, asWebACL, guarding, "waf waf-mode"},
	{Restricts, asWhen, nil, "http-header-match http-header-match-regex"},
	{Restricts, nothing, nil, `config-backend config-backend-early config-backend-late config-frontend
		config-frontend-early config-frontend-late config-global config-defaults config-tcp
		config-tcp-service config-sections config-proxy`},
	{Restricts, asSecurePorts, onlySecure("if it is 443 alone", func(u use) bool { return u.value == "443" }), "http-port-match"},

	{Changes, nothing, nil, "limit-whitelist source-address-intf allowlist-source-header src-ip-header"},
	{Restricts, asSecureRedirect, redirecting, "ssl-redirect"},
	{Changes, asSecureRedirect, nil, "ssl-redirect-code"},
	{Changes, asRedirect, nil, "app-root redirect-from redirect-from-regex redirect-from-code redirect-to redirect-to-code"},
	{Changes, asRewrite, nil, "rewrite-target"},
	{Restricts, asExact, exactPaths("exact"), "path-type"},
	{Changes, asRegex, nil, "path-type-order"},
	{Changes, asRules, nil, "server-alias server-alias-regex"},
	{Changes, asWeights, nil, "blue-green-balance blue-green-cookie blue-green-deploy blue-green-header blue-green-mode initial-weight"},
	{Changes, asSticky, nil, "affinity session-cookie-*"},
	{Changes, asTargetAttributes, nil, "balance-algorithm slots-min-free maxconn-server maxqueue-server"},
	{Changes, asProtocol, nil, "backend-protocol secure-backends"},
	{Changes, nothing, nil, "secure-crt-secret secure-sni secure-verify-ca-secret " +
		"secure-verify-hostname ssl-cipher-suites-backend ssl-ciphers-backend ssl-options-backend " +
		"ssl-fingerprint-*"},
	{Restricts, asSecurePorts, redirecting, "ssl-passthrough"},
	{Changes, nothing, nil, "ssl-passthrough-http-port"},
	{Changes, asTLSPolicy, nil, "ssl-ciphers ssl-cipher-suites ssl-options-host ssl-always-add-https ssl-always-follow-redirect tls-alpn"},
	{Changes, asListener, nil, "cors-* hsts hsts-*"},
	{Changes, asCheckPath, nil, "health-check-uri"},
	{Changes, asCheckPort, nil, "health-check-port"},
	{Changes, asCheckInterval, nil, "health-check-interval backend-check-interval"},
	{Changes, asCheckHealthy, nil, "health-check-rise-count"},
	{Changes, asCheckUnhealthy, nil, "health-check-fall-count"},
	{Changes, nothing, nil, "health-check-addr agent-check-*"},
	{Changes, asTimeout, nil, "timeout-server timeout-tunnel timeout-client timeout-keep-alive"},
	{Restricts, asTLS, certified, "cert-signer"},
	{Changes, nothing, nil, `timeout-* headers proxy-body-size proxy-protocol service-upstream
		use-resolver dynamic-scaling backend-server-naming backend-server-slots-increment var-namespace
		tcp-service-* assign-backend-server-id fronting-proxy-port use-forwarded-proto forwardfor
		groupname username redirect-* drain-support http-log tcp-log`},
}

var haproxyIngress = controller{
	name:     "HAProxy Ingress",
	prefixes: []string{"haproxy-ingress.github.io"},
	sources: []string{
		"github.com/jcmoraisjr/haproxy-ingress pkg/converters/ingress/types/annotations.go",
		"haproxy-ingress.github.io/docs/configuration/keys",
	},
	onServices: "*",
	settings:   haproxyIngressSettings,
}

var openshift = controller{
	name:     "the router of OpenShift",
	prefixes: []string{"haproxy.router.openshift.io", "router.openshift.io", "route.openshift.io"},
	sources: []string{
		"docs.redhat.com/documentation/openshift_container_platform/4.20/html/ingress_and_load_balancing/nw-route-specific-annotations_configuring-routes",
		"github.com/openshift/route-controller-manager pkg/route/ingress/ingress.go",
	},
	settings: []settings{
		{Restricts, asInbound, allowedRanges, "ip_whitelist ip_allowlist"},
		{Restricts, asWebRule, unlessOff, "rate-limit-connections rate-limit-connections.*"},
		{Restricts, asSecurePorts, onlySecure("if it is edge, reencrypt or passthrough", hasValue("edge", "reencrypt", "passthrough")), "termination"},
		{Changes, nothing, nil, "destination-ca-certificate-secret"},
		{Changes, asRewrite, nil, "rewrite-target"},
		{Changes, asListener, nil, "hsts_header"},
		{Changes, asSticky, nil, "disable_cookies cookie_name cookie-same-site"},
		{Changes, asTargetAttributes, nil, "balance"},
		{Changes, asTimeout, nil, "timeout timeout-tunnel"},
		{Changes, asCheckInterval, nil, "haproxy.health.check.interval"},
		{Changes, nothing, nil, "pod-concurrent-connections set-forwarded-headers h1-adjust-case http2"},
		{Harmless, nothing, nil, "labels log-send-hostname"},
	},
}

// voyagerSettings has the settings that Voyager also has under ingress.kubernetes.io.
var voyagerSettings = []settings{
	{Restricts, asSignIn, nil, "auth-type auth-realm auth-secret auth-tls-secret auth-tls-verify-client auth-tls-error-page oauth"},
	{Restricts, asInbound, allowedRanges, "whitelist-source-range"},
	{Restricts, asWebRule, unlessOff, "limit-connection limit-rpm limit-rps max-connections"},
	{Restricts, asInbound, allowedRanges, "load-balancer-source-ranges"},
	{Restricts, nothing, nil, "backend-rule frontend-rule"},
	{Restricts, asSecureRedirect, redirecting, "ssl-redirect force-ssl-redirect"},
	{Changes, asSticky, nil, "affinity session-cookie-name session-cookie-hash sticky-session"},
	{Changes, asRewrite, nil, "rewrite-target"},
	{Restricts, asSecurePorts, redirecting, "ssl-passthrough"},
	{Changes, asListener, nil, "hsts hsts-* enable-cors cors-*"},
	{Changes, asProtocol, nil, "backend-tls"},
	{Changes, asWeights, nil, "backend-weight"},
	{Changes, asCheckPath, nil, "check check-port"},
	{Changes, asTimeout, nil, "default-timeout"},
	{Changes, nothing, nil, "default-option proxy-body-size errorfiles accept-proxy keep-source-ip use-dns-resolver dns-resolver-*"},
}

var voyager = controller{
	name:       "Voyager",
	prefixes:   []string{"ingress.appscode.com", "voyager.appscode.com"},
	sources:    []string{"github.com/voyagermesh/voyager apis/voyager/v1beta1/annotations.go"},
	onServices: "*",
	settings: append([]settings{
		{Changes, nothing, nil, "type replicas node-selector load-balancer-ip annotations-service " +
			"annotations-pod health-check-nodeport daemon.nodeselector"},
		{Harmless, nothing, nil, "stats stats-port stats-secret-name stats-service-name api-schema " +
			"origin-api-schema origin-name egress-points monitoring-*"},
	}, voyagerSettings...),
}
