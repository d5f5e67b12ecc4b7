package foreign

import "slices"

// This file lists the annotations and fields of Fairlead that are equivalent to those of others.

// An equivalent is a setting of Fairlead.
type equivalent struct {
	name       string // "" if there is none
	of         string // the kind of object that it is a field of; "" for an annotation
	or         string // an alternative
	annotation string // an annotation that fully replaces the other one
	example    string
}

// String returns the equivalent for a message.
func (e equivalent) String() string {
	switch {
	case e.name == "":
		return ""
	case e.of != "":
		return e.name + " of " + e.of + e.or
	}
	return e.name + e.or
}

// secures reports whether the setting stands for one that asks for HTTPS.
func (e equivalent) secures() bool {
	return slices.Contains([]equivalent{
		asSecurePorts, asSecureRedirect, asFrontend, asTLS, asCertificate,
	}, e)
}

const (
	aBackend = "a Backend"
	theClass = "the class"
)

// annotated returns an annotation of Fairlead as an equivalent.
func annotated(name, value string) equivalent {
	name = "fairlead.dev/" + name
	return equivalent{name: name, annotation: name, example: name + ": " + value}
}

// annotatedOr returns an annotation of Fairlead, with a field of the class as the alternative.
func annotatedOr(name, value, field string) equivalent {
	e := annotated(name, value)
	e.or = ", or " + field + " of the class"
	return e
}

var (
	nothing = equivalent{}

	// Which load balancer.
	asGroup      = annotated("group", "shop")
	asOrder      = annotated("order", `"-10"`)
	asName       = annotatedOr("load-balancer-name", "shop-edge", "loadBalancerName")
	asInternal   = annotatedOr("scheme", "internal", "scheme")
	asIPFamily   = annotatedOr("ip-family", "dualstack", "ipFamily")
	asSubnets    = annotatedOr("subnets", "subnet-0a1b2c, subnet-0d4e5f", "subnets or subnetTags")
	asAttributes = annotatedOr("load-balancer-attributes", "idle_timeout.timeout_seconds=120", "attributes")
	asTimeout    = annotatedOr("idle-timeout-seconds", `"120"`, "attributes")
	asTags       = annotatedOr("tags", "team=shop", "tags")
	asDefault    = equivalent{name: "spec.defaultBackend", of: "the Ingress", example: "defaultBackend: {service: {name: web, port: {number: 80}}}"}

	// Ports and TLS.
	asPorts       = annotatedOr("listen-ports", `"HTTP:80,HTTPS:443"`, "listenPorts")
	asSecurePorts = annotatedOr("listen-ports", `"HTTPS:443"`, "listenPorts")
	asCertificate = annotated("certificate-arn", "arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012")
	asTLS         = equivalent{name: "spec.tls", of: "the Ingress", example: "tls: [{hosts: [shop.example.com], secretName: shop-tls}]"}
	asTLSPolicy   = annotatedOr("tls-policy", "ELBSecurityPolicy-TLS13-1-2-2021-06", "tlsPolicy")
	asMutual      = annotatedOr("mutual-authentication", `'[{"port": 443, "mode": "verify", "trustStore": "shop"}]'`, "ports[].mutualAuthentication")
	asListener    = annotatedOr("listener-attributes", "443:routing.http.response.strict_transport_security.header_value=max-age=31536000", "ports[].attributes")

	// Access.
	asInbound = annotatedOr("inbound", "10.0.0.0/8", "inbound")
	asWebACL  = annotatedOr("wafv2-acl", "shop-edge", "wafv2ACL")
	asShield  = annotatedOr("shield-advanced", `"true"`, "shieldAdvanced")
	asGroups  = annotatedOr("security-groups", "sg-0a1b2c3d", "securityGroups")
	asSignIn  = equivalent{name: "authenticate", of: aBackend, example: "authenticate: {oidc: {issuer: https://login.example.com, …}}, or cognito, or jwt"}
	asWebRule = equivalent{name: "fairlead.dev/wafv2-acl", or: ", with a rule of the web ACL for it", example: "fairlead.dev/wafv2-acl: shop-edge"}
	asWhen    = annotated("conditions", `'[{"backend": "canary", "header": {"X-Canary": ["always"]}}]'`)

	asBackendConfig = equivalent{
		name: "authenticate", of: aBackend, or: " for IAP, fairlead.dev/wafv2-acl for Cloud Armor, " +
			"fairlead.dev/health-check-path and its kind for a health check",
		example: asSignIn.example,
	}

	// Routing.
	asRedirect       = equivalent{name: "redirect", of: aBackend, example: "redirect: {host: www.example.com, statusCode: 301}"}
	asSecureRedirect = annotatedOr("ssl-redirect", `"443"`, "sslRedirect")
	asFrontend       = equivalent{
		name: asSecureRedirect.name, or: asSecureRedirect.or + "; fairlead.dev/tls-policy for an SSL policy",
		example: asSecureRedirect.example,
	}
	asAction      = equivalent{name: "redirect, fixedResponse or services", of: aBackend, example: "fixedResponse: {statusCode: 503, body: closed}"}
	asRewrite     = equivalent{name: "rewrite", of: aBackend, example: "rewrite: {url: {pattern: ^/api/(.*)$, replacement: /$1}}"}
	asHostRewrite = equivalent{name: "rewrite", of: aBackend, example: "rewrite: {host: {pattern: ^.*$, replacement: shop.internal}}"}
	asWeights     = equivalent{
		name: "services[].weight", of: aBackend, example: "services: [{name: blue, port: {number: 80}, " +
			"weight: 9}, {name: green, port: {number: 80}, weight: 1}]",
	}
	asSticky = equivalent{
		name: "stickiness", of: aBackend, or: ", or fairlead.dev/target-group-attributes",
		annotation: "fairlead.dev/target-group-attributes",
		example:    "stickiness: {durationSeconds: 3600}",
	}
	asRegex = annotatedOr("implementation-specific", "Regex", "implementationSpecific")
	asExact = equivalent{name: "pathType: Exact", of: "the Ingress", example: "pathType: Exact"}
	asRules = equivalent{name: "spec.rules", of: "the Ingress", example: "rules: [{host: www.example.com, …}]"}

	// Targets.
	asTargetType = annotatedOr("target-type", "instance", "targetType")
	asNodeLabels = annotated("target-node-labels", "pool=web")
	asProtocol   = equivalent{
		name: "fairlead.dev/backend-protocol", or: ", or appProtocol of the Service's port",
		annotation: "fairlead.dev/backend-protocol", example: "fairlead.dev/backend-protocol: HTTPS",
	}
	asVersion = equivalent{
		name: "fairlead.dev/backend-protocol-version", or: ", or appProtocol of the Service's port",
		annotation: "fairlead.dev/backend-protocol-version",
		example:    "fairlead.dev/backend-protocol-version: GRPC",
	}
	asTargetAttributes = annotated("target-group-attributes", "deregistration_delay.timeout_seconds=30")
	asCheckPath        = annotatedOr("health-check-path", "/healthz", "healthCheck")
	asCheckPort        = annotatedOr("health-check-port", `"8081"`, "healthCheck")
	asCheckProtocol    = annotatedOr("health-check-protocol", "HTTPS", "healthCheck")
	asCheckInterval    = annotatedOr("health-check-interval-seconds", `"30"`, "healthCheck")
	asCheckTimeout     = annotatedOr("health-check-timeout-seconds", `"10"`, "healthCheck")
	asCheckHealthy     = annotatedOr("health-check-healthy-threshold", `"3"`, "healthCheck")
	asCheckUnhealthy   = annotatedOr("health-check-unhealthy-threshold", `"3"`, "healthCheck")
	asCheckCodes       = annotatedOr("health-check-success-codes", `"200-299"`, "healthCheck")
)
