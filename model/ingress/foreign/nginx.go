package foreign

// This file has the annotations of ingress-nginx, and of the controller of NGINX.

// nginxSettings has the settings of ingress-nginx, which other controllers also have.
var nginxSettings = []settings{
	// An auth-type other than basic or digest, and an invalid auth-url, deny the location to all
	// clients: internal/ingress/annotations/auth/main.go, authreq/main.go and annotations.go.
	{Restricts, asSignIn, nil, `auth-type auth-realm auth-secret auth-secret-type auth-url auth-signin
		auth-signin-redirect-param auth-method auth-snippet auth-response-headers auth-request-redirect
		auth-proxy-set-headers auth-cache-key auth-cache-duration`},
	{Restricts, asSignIn, unlessOff, `auth-always-set-cookie auth-keepalive auth-keepalive-requests
		auth-keepalive-share-vars auth-keepalive-timeout enable-global-auth`},
	{Restricts, asSignIn, nil, "satisfy"},
	{Restricts, asMutual, unlessOff, "auth-tls-verify-client"},
	{Restricts, asMutual, besideVerify, `auth-tls-secret auth-tls-verify-depth auth-tls-error-page
		auth-tls-match-cn auth-tls-pass-certificate-to-upstream`},
	{Restricts, asInbound, nginxRanges, "allowlist-source-range whitelist-source-range"},
	{Restricts, asWebRule, always, "denylist-source-range"}, // as nginxRanges: internal/ingress/annotations/ipdenylist/main.go
	{Restricts, asWebRule, unlessOff, `limit-connections limit-rps limit-rpm limit-rate global-rate-limit`},
	{Restricts, asWebACL, firewallSwitch, "enable-modsecurity enable-owasp-core-rules enable-owasp-modsecurity-crs lua-resty-waf"},
	// Rules of the author's own, which no web ACL has.
	{Restricts, asWebRule, nil, "modsecurity-snippet"},
	// The mode of Wallarm: off and monitoring refuse no client.
	{Restricts, asWebACL, wallarm, "wallarm-mode"},
	{Restricts, nothing, nil, "configuration-snippet server-snippet stream-snippet"},
	{Restricts, asWhen, nil, "canary-by-header canary-by-header-value canary-by-header-pattern canary-by-cookie"},

	{Changes, nothing, nil, `limit-rate-after limit-burst-multiplier limit-allowlist limit-whitelist
		global-rate-limit-window global-rate-limit-key global-rate-limit-ignored-cidrs
		modsecurity-transaction-id lua-resty-waf-*`},
	{Changes, asWeights, switched, "canary"},
	{Changes, asWeights, nil, "canary-weight canary-weight-total"},
	{Restricts, asSecureRedirect, redirecting, "ssl-redirect force-ssl-redirect"},
	{Changes, asRedirect, switched, "from-to-www-redirect"},
	{Changes, asRedirect, nil, "permanent-redirect permanent-redirect-code temporal-redirect temporal-redirect-code app-root"},
	{Changes, nothing, nil, "preserve-trailing-slash use-port-in-redirects relative-redirects"},
	{Changes, asRewrite, nil, "rewrite-target"},
	{Changes, asHostRewrite, nil, "upstream-vhost"},
	{Changes, asRegex, switched, "use-regex"},
	{Changes, asRules, nil, "server-alias"},
	{Changes, asDefault, nil, "default-backend custom-http-errors"},
	{Changes, nothing, nil, "disable-proxy-intercept-errors"},
	{Changes, asSticky, nil, `affinity affinity-mode affinity-canary-behavior session-cookie-name
		session-cookie-hash session-cookie-path session-cookie-domain session-cookie-expires
		session-cookie-max-age session-cookie-change-on-failure session-cookie-conditional-samesite-none
		session-cookie-samesite session-cookie-secure session-cookie-partitioned`},
	{Changes, asTargetAttributes, nil, "load-balance upstream-hash-by upstream-hash-by-subset upstream-hash-by-subset-size"},
	{Changes, asProtocol, nil, "backend-protocol secure-backends grpc-backend"},
	{Restricts, asSecurePorts, redirecting, "ssl-passthrough"},
	{Changes, asTLSPolicy, nil, "ssl-ciphers ssl-prefer-server-ciphers"},
	{Changes, nothing, nil, "proxy-ssl-* secure-verify-ca-secret"},
	{Changes, asListener, nil, "enable-cors cors-*"},
	{Changes, asListener, nil, "custom-headers"},
	{Changes, asTimeout, nil, "proxy-read-timeout proxy-send-timeout"},
	{Changes, nothing, nil, `proxy-connect-timeout proxy-next-upstream proxy-next-upstream-timeout
		proxy-next-upstream-tries proxy-request-buffering proxy-buffering proxy-buffers-number
		proxy-buffer-size proxy-busy-buffers-size proxy-max-temp-file-size proxy-body-size
		client-body-buffer-size proxy-http-version proxy-redirect-from proxy-redirect-to
		proxy-cookie-domain proxy-cookie-path proxy-add-original-uri-header connection-proxy-header
		x-forwarded-prefix http2-push-preload fastcgi-index fastcgi-params-configmap mirror-host
		mirror-request-body mirror-target service-upstream upstream-max-fails upstream-fail-timeout
		add-base-url base-url-scheme`},
	{Harmless, nothing, nil, `enable-access-log enable-rewrite-log enable-opentelemetry opentelemetry-*
		enable-opentracing opentracing-* enable-influxdb influxdb-*`},
}

var ingressNGINX = controller{
	name:     "ingress-nginx",
	prefixes: []string{"nginx.ingress.kubernetes.io"},
	// From github.com/kubernetes/ingress-nginx docs/user-guide/nginx-configuration/annotations.md,
	// github.com/kubernetes/ingress-nginx docs/user-guide/nginx-configuration/annotations-risk.md,
	// docs.wallarm.com/admin-en/configure-kubernetes-en.
	settings: nginxSettings,
}

var nginxInc = controller{
	name: "NGINX Ingress Controller of F5",
	prefixes: []string{"nginx.org", "nginx.com", "appprotect.f5.com", "appprotectdos.f5.com",
		"nsm.nginx.com"},
	// From github.com/nginx/kubernetes-ingress internal/configs/annotations.go,
	// docs.nginx.com/nginx-ingress-controller/configuration/ingress-resources/advanced-configuration-with-annotations.
	settings: []settings{
		{Restricts, asSignIn, nil, "basic-auth-secret basic-auth-realm jwt-key jwt-realm jwt-token jwt-login-url policies"},
		{Restricts, asWebRule, unlessOff, "limit-req-rate limit-req-key limit-req-zone-size limit-req-burst limit-req-delay limit-req-no-delay limit-req-reject-code limit-req-scale"},
		{Restricts, asWebACL, firewallSwitch, "app-protect-enable app_protect_enable"},
		{Restricts, asWebACL, policed, "app-protect-policy app_protect_policy"},
		{Restricts, asShield, policed, "app-protect-dos-resource"},
		{Restricts, nothing, nil, "server-snippets location-snippets"},
		{Restricts, nothing, unlessOff, "internal-route"},

		{Changes, nothing, nil, "limit-req-dry-run limit-req-log-level"},
		{Restricts, asPorts, nginxListens, "listen-ports"},
		{Changes, asPorts, nil, "listen-ports-ssl"},
		{Restricts, asSecureRedirect, redirecting, "redirect-to-https ssl-redirect"},
		{Changes, asRedirect, nil, "app-root http-redirect-code"},
		{Changes, asRewrite, nil, "rewrites rewrite-target"},
		{Restricts, asExact, exactPaths("exact"), "path-regex"},
		{Restricts, nothing, nil, "proxy-hide-headers"}, // removes headers of responses
		{Changes, asProtocol, nil, "ssl-services"},
		{Changes, asVersion, nil, "grpc-services"},
		{Changes, nothing, nil, "websocket-services mergeable-ingress-type use-cluster-ip"},
		{Changes, asTargetAttributes, nil, "lb-method slow-start"},
		{Changes, asSticky, nil, "sticky-cookie-services"},
		{Changes, asListener, nil, "hsts hsts-max-age hsts-include-subdomains hsts-behind-proxy server-tokens add-header"},
		{Changes, asTimeout, nil, "proxy-read-timeout proxy-send-timeout"},
		{Changes, asCheckPath, nil, "health-checks health-checks-mandatory health-checks-mandatory-queue"},
		{Changes, nothing, nil, `proxy-connect-timeout proxy-pass-headers proxy-set-headers
			proxy-buffering proxy-buffers proxy-buffer-size proxy-busy-buffers-size proxy-max-temp-file-size
			client-max-body-size client-body-buffer-size upstream-zone-size keepalive max-fails max-conns
			fail-timeout proxy-next-upstream proxy-next-upstream-timeout proxy-next-upstream-tries`},
		{Harmless, nothing, nil, "app-protect-security-log app-protect-security-log-* app_protect_security_log app_protect_security_log_*"},
	},
}
