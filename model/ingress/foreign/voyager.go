package foreign

// This file is the annotations of Voyager.

// voyagerSettings are those of Voyager under ingress.kubernetes.io as well.
var voyagerSettings = []settings{
	{Restricts, asSignIn, nil, "auth-type auth-realm auth-secret auth-tls-secret auth-tls-verify-client auth-tls-error-page oauth"},
	{Restricts, asInbound, allowedRanges, "whitelist-source-range"},
	{Restricts, asWebRule, unlessOff, "limit-connection limit-rpm limit-rps max-connections"},
	{Restricts, asInbound, allowedRanges, "load-balancer-source-ranges"},
	{Restricts, nothing, nil, "backend-rule frontend-rule"},
	{Changes, asSecureRedirect, switched, "ssl-redirect force-ssl-redirect"},
	{Changes, asSticky, nil, "affinity session-cookie-name session-cookie-hash sticky-session"},
	{Changes, asRewrite, nil, "rewrite-target"},
	{Changes, nothing, switched, "ssl-passthrough"},
	{Changes, asListener, nil, "hsts hsts-* enable-cors cors-*"},
	{Changes, asProtocol, nil, "backend-tls"},
	{Changes, asWeights, nil, "backend-weight"},
	{Changes, asCheckPath, nil, "check check-port"},
	{Changes, asAttributes, nil, "default-timeout"},
	{Changes, nothing, nil, "default-option proxy-body-size errorfiles accept-proxy keep-source-ip use-dns-resolver dns-resolver-*"},
}

var voyager = controller{
	name:       "Voyager",
	prefixes:   []string{"ingress.appscode.com", "voyager.appscode.com"},
	sources:    []string{"github.com/voyagermesh/voyager apis/voyager/v1beta1/annotations.go"},
	onServices: "*",
	settings: append([]settings{
		{Changes, nothing, nil, "type replicas node-selector load-balancer-ip annotations-service annotations-pod health-check-nodeport daemon.nodeselector"},
		{Harmless, nothing, nil, "stats stats-port stats-secret-name stats-service-name api-schema origin-api-schema origin-name egress-points monitoring-*"},
	}, voyagerSettings...),
}
