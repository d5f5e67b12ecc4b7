package foreign

import "strings"

// This file has the annotations of Traefik, version 1 included.

// traefikEntryPoints uses the names of entry points in Traefik's documents: web and http have no
// TLS, websecure and https have TLS.
var traefikEntryPoints = &judgement{"if they are websecure or https, and the Ingress is served " +
	"on an HTTP port here; if one is called internal or private, or none has a name of these, and " +
	"the load balancer faces the internet here; otherwise others are a change",
	func(u use) Effect {
		if u.value == "" {
			return Harmless
		}
		private, plain, known, unknown := false, false, false, false
		for point := range strings.SplitSeq(strings.ToLower(u.value), ",") {
			point = strings.TrimSpace(point)
			private = private || strings.Contains(point, "internal") || strings.Contains(point, "private")
			switch point {
			case "":
			case "web", "http":
				plain, known = true, true
			case "websecure", "https":
				known = true
			default:
				unknown = true
			}
		}
		switch {
		case private:
			return harmlessIf(u.served.Internal, Restricts)
		case !plain && u.served.plain(), !known && !u.served.Internal:
			return Restricts
		default:
			return harmlessIf(!unknown, Changes)
		}
	}}

// traefik1Settings has the settings of Traefik 1, under its own prefix and under
// ingress.kubernetes.io.
var traefik1Settings = []settings{
	{Restricts, asSignIn, nil, "auth-type auth-secret auth-remove-header auth-url auth-tls-secret auth-realm auth-response-headers"},
	{Restricts, asSignIn, unlessOff, "auth-trust-headers auth-tls-insecure"},
	{Restricts, asInbound, allowedRanges, "whitelist-source-range"},
	{Restricts, asWebRule, nil, "rate-limit max-conn-extractor-func"},
	{Restricts, asWebRule, unlessOff, "max-conn-amount"},
	{Restricts, asWhen, nil, "allowed-hosts"},
	{Changes, nothing, nil, "whitelist-x-forwarded-for"},
	{Restricts, asSecureRedirect, redirecting, "ssl-redirect force-ssl-redirect ssl-temporary-redirect"},
	{Restricts, asSecureRedirect, redirecting, "redirect-entry-point"},
	{Changes, asRedirect, nil, "redirect-permanent redirect-regex redirect-replacement app-root"},
	{Changes, asRewrite, nil, "rewrite-target request-modifier"},
	// Path and PathStrip match exact paths, and the others match prefixes:
	// docs/configuration/backends/kubernetes.md.
	{Restricts, asExact, exactPaths("path", "pathstrip"), "rule-type"},
	{Restricts, asEntryPoints, traefikEntryPoints, "frontend-entry-points"},
	{Changes, asWeights, nil, "service-weights"},
	{Changes, asSticky, nil, "affinity session-cookie-name sticky"},
	{Changes, asTargetAttributes, nil, "load-balancer-method"},
	{Changes, asDefault, nil, "error-pages"},
	{Changes, asProtocol, nil, "protocol"},
	{Changes, asListener, nil, `hsts-* force-hsts custom-frame-options-value frame-deny
		content-type-nosniff browser-xss-filter custom-browser-xss-value content-security-policy
		referrer-policy public-key custom-response-headers`},
	{Changes, nothing, nil, `circuit-breaker-expression buffering preserve-host pass-client-tls-cert
		pass-tls-cert priority custom-request-headers proxy-headers ssl-host ssl-force-host
		ssl-proxy-headers is-development responseforwarding-flushinterval`},
}

var traefik = controller{
	name:     "Traefik",
	prefixes: []string{"traefik.ingress.kubernetes.io"},
	sources: []string{
		"github.com/traefik/traefik pkg/provider/kubernetes/ingress/annotations.go",
		"doc.traefik.io/traefik/reference/routing-configuration/kubernetes/ingress",
		"doc.traefik.io/traefik/v1.7/configuration/backends/kubernetes",
	},
	onServices: "service.* affinity session-cookie-name load-balancer-method max-conn-* " +
		"circuit-breaker-expression buffering protocol",
	settings: append([]settings{
		{Restricts, asSignIn, nil, "router.middlewares"},
		{Restricts, asEntryPoints, traefikEntryPoints, "router.entrypoints"},
		// A router has TLS with router.tls without a value, too, or with any of the names behind it:
		// github.com/traefik/paerser parser/nodes_metadata.go, which reads true in any case.
		{Restricts, asSecurePorts, onlySecure("if it is true or empty", func(u use) bool { return u.value == "" || isBool(true)(u) }), "router.tls"},
		{Restricts, asMutual, nil, "router.tls.options"},
		{Restricts, asSecurePorts, onlySecure("if it is there", func(use) bool { return true }), "router.tls.certresolver router.tls.domains.*"},
		// With Path, a path of type ImplementationSpecific is exact:
		// pkg/provider/kubernetes/ingress/kubernetes.go, loadRouter.
		{Restricts, asExact, exactPaths("path"), "router.pathmatcher"},
		{Changes, asRegex, nil, "router.rulesyntax"},
		{Changes, nothing, nil, "router.priority"},
		{Changes, asSticky, nil, "service.sticky service.sticky.*"},
		{Changes, asProtocol, nil, "service.serversscheme"},
		{Changes, nothing, nil, "service.serverstransport service.passhostheader service.nativelb service.nodeportlb"},
		{Changes, asTargetAttributes, nil, "service.strategy"},
		{Harmless, nothing, nil, "router.observability.*"},
	}, traefik1Settings...),
}
