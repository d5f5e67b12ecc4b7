package nginx

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/ingress/foreign"
)

// This file says what becomes of each key of the ConfigMap.

// followed are the keys that the answers of an ALB follow, or whose effect the verdicts of Ingresses tell.
var followed = strings.Fields(`ssl-redirect force-ssl-redirect preserve-trailing-slash use-port-in-redirects http-redirect-code
	no-tls-redirect-locations use-forwarded-headers whitelist-source-range denylist-source-range annotations-risk-level hsts
	hsts-include-subdomains hsts-max-age hsts-preload strict-validate-path-type relative-redirects use-proxy-protocol
	allow-snippet-annotations`)

// inside are the keys of what an ALB has no setting for, and that open nothing without effect: logs, buffers, workers,
// compression, connections and headers.
var inside = strings.Fields(`access-log-params access-log-path add-headers allow-backend-server-header
	allow-cross-namespace-resources annotation-value-word-blocklist auth-body bind-address bind-address-ipv4 bind-address-ipv6
	brotli-level brotli-min-length brotli-types client-body-buffer-size client-body-timeout client-header-buffer-size
	client-header-timeout compute-full-forwarded-for debug-connections default-type disable-access-log disable-http-access-log
	disable-ipv6 disable-ipv6-dns disable-proxy-intercept-errors disable-stream-access-log
	enable-access-log-for-default-backend enable-aio-write enable-auth-access-log enable-brotli enable-multi-accept enable-ocsp
	enable-opentelemetry enable-real-ip enable-serial-reloads enable-syslog enable-underscores-in-headers error-log-level
	error-log-path forwarded-for-header forwarded-for-proxy-protocol-header forwarded-host-header generate-request-id
	geoip2-autoreload-in-minutes grpc-buffer-size-kb gzip-disable gzip-level gzip-min-length gzip-types hide-headers
	http-access-log-path http2-max-concurrent-streams http2-max-field-size http2-max-header-size http2-max-requests
	ignore-invalid-headers keep-alive keep-alive-requests large-client-header-buffers log-format-escape-json
	log-format-escape-none log-format-stream log-format-upstream lua-shared-dicts map-hash-bucket-size max-worker-connections
	max-worker-open-files nginx-status-ipv4-whitelist nginx-status-ipv6-whitelist opentelemetry-config
	opentelemetry-operation-name opentelemetry-trust-incoming-span otel-max-export-batch-size otel-max-queuesize otel-sampler
	otel-sampler-parent-based otel-sampler-ratio otel-schedule-delay-millis otel-service-name otlp-collector-host
	otlp-collector-port proxy-add-original-uri-header proxy-headers-hash-bucket-size proxy-headers-hash-max-size
	proxy-http-version proxy-protocol-header-timeout proxy-real-ip-cidr proxy-set-headers proxy-ssl-location-only
	proxy-stream-next-upstream proxy-stream-next-upstream-timeout proxy-stream-next-upstream-tries proxy-stream-responses
	proxy-stream-timeout retry-non-idempotent reuse-port server-name-hash-bucket-size server-name-hash-max-size server-tokens
	skip-access-log-urls ssl-buffer-size ssl-dh-param ssl-early-data ssl-ecdh-curve ssl-session-cache ssl-session-cache-size
	ssl-session-ticket-key ssl-session-tickets ssl-session-timeout stream-access-log-path syslog-host syslog-port
	upstream-keepalive-connections upstream-keepalive-requests upstream-keepalive-time upstream-keepalive-timeout use-geoip2
	use-gzip use-http2 variables-hash-bucket-size variables-hash-max-size worker-cpu-affinity worker-processes
	worker-shutdown-timeout proxy-buffer-size proxy-buffering proxy-buffers-number proxy-busy-buffers-size
	proxy-connect-timeout proxy-cookie-domain proxy-cookie-path proxy-max-temp-file-size proxy-next-upstream
	proxy-next-upstream-timeout proxy-next-upstream-tries proxy-read-timeout proxy-redirect-from proxy-redirect-to
	proxy-request-buffering proxy-send-timeout load-balance upstream-hash-by upstream-hash-by-subset
	upstream-hash-by-subset-size service-upstream custom-http-errors global-allowed-response-headers limit-rate limit-rate-after
	limit-conn-status-code limit-req-status-code limit-conn-zone-variable ssl-ciphers ssl-protocols proxy-body-size`)

// restricting are keys that refuse requests of all Ingresses, with what can do it instead.
var restricting = map[string]string{
	"block-cidrs":                  "{LB} has no such list: `inbound` of the class says which clients may connect",
	"block-user-agents":            "{LB} has no such list: a web ACL can have one (`wafv2ACL` of the class)",
	"block-referers":               "{LB} has no such list: a web ACL can have one (`wafv2ACL` of the class)",
	"global-auth-url":              "{LB} asks no other service: `authenticate` of a Backend has users sign in",
	"no-auth-locations":            "",
	"enable-modsecurity":           "{LB} has no ModSecurity: a web ACL can have managed rules (`wafv2ACL` of the class)",
	"enable-owasp-modsecurity-crs": "{LB} has no ModSecurity: a web ACL can have managed rules (`wafv2ACL` of the class)",
	"modsecurity-snippet":          "{LB} has no ModSecurity: a web ACL can have managed rules (`wafv2ACL` of the class)",
	"ssl-reject-handshake":         "",
	"main-snippet":                 "it is configuration of nginx, which can do anything",
	"http-snippet": "it is configuration of nginx, which can do anything (a server that leads all to HTTPS is read if the Service " +
		"ends TLS)",
	"server-snippet":   "it is configuration of nginx, which can do anything",
	"location-snippet": "it is configuration of nginx, which can do anything",
	"stream-snippet":   "",
	"auth":             "",
}

// keyOf says what becomes of a key, and whether there is anything to say.
func keyOf(name, value string) (Key, bool) {
	k := Key{Name: name}
	if why, known := restricting[name]; known {
		off := value == "" || value == "false" || name == "http-snippet" && serverToHTTPS.MatchString(strings.TrimSpace(value))
		k.Message, k.Refused = why, why != "" && !off
		return k, k.Refused
	}
	switch {
	case slices.Contains(followed, name):
		return k, false
	case strings.HasPrefix(name, "global-auth-"): // they say more about global-auth-url
		return k, false
	case slices.Contains(inside, name):
		k.Message = "it has no effect: {LB} has no such setting, or another one (see the reference of annotations)"
		if name == "proxy-body-size" {
			k.Message = "it has no effect: {LB} does not limit bodies, and a web ACL can"
		}
		return k, true
	case foreign.LooksRestrictive(name, value):
		k.Message, k.Refused = "it is unknown and reads like a restriction", true
		return k, true
	}
	k.Message = "it is unknown, and has no effect"
	return k, true
}
