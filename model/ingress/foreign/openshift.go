package foreign

// This file is the annotations of OpenShift's router, which Ingresses hand on to routes.

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
		{Restricts, asSecurePorts, onlySecure("if it is edge, reencrypt or passthrough", valued("edge", "reencrypt", "passthrough")), "termination"},
		{Changes, nothing, nil, "destination-ca-certificate-secret"},
		{Changes, asRewrite, nil, "rewrite-target"},
		{Changes, asListener, nil, "hsts_header"},
		{Changes, asSticky, nil, "disable_cookies cookie_name cookie-same-site"},
		{Changes, asTargetAttributes, nil, "balance"},
		{Changes, asAttributes, nil, "timeout timeout-tunnel"},
		{Changes, asCheckInterval, nil, "haproxy.health.check.interval"},
		{Changes, nothing, nil, "pod-concurrent-connections set-forwarded-headers h1-adjust-case http2"},
		{Harmless, nothing, nil, "labels log-send-hostname"},
	},
}
