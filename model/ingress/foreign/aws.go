package foreign

// This file has the annotations of the AWS Load Balancer Controller, and of the ALB Ingress
// controller of Alibaba Cloud, which has the same prefix.

var awsALB = controller{
	name:     "the AWS Load Balancer Controller and the ALB Ingress controller of Alibaba Cloud",
	prefixes: []string{"alb.ingress.kubernetes.io"},
	// From github.com/kubernetes-sigs/aws-load-balancer-controller pkg/annotations/constants.go,
	// github.com/kubernetes-sigs/aws-load-balancer-controller docs/guide/ingress/annotations.md,
	// github.com/kubernetes/cloud-provider-alibaba-cloud docs.
	onServices: `auth-* jwt-validation backend-protocol* healthcheck-* healthy-* unhealthy-*
		success-codes tags target-* multi-cluster-target-group`,
	settings: []settings{
		// auth-type is none, cognito or oidc, and with any other the Ingress is not served:
		// pkg/ingress/auth_config_builder.go.
		{Restricts, asSignIn, &judgement{"unless it is empty or none", func(u use) Effect {
			return harmlessIf(u.value == "" || u.value == "none", Restricts)
		}}, "auth-type"},
		{Restricts, asSignIn, conditional, "jwt-validation"},
		{Restricts, asSignIn, dependingOn("auth-type", func(value string) bool {
			return value == "none"
		}), `auth-idp-cognito auth-idp-oidc auth-on-unauthenticated-request auth-scope
			auth-session-cookie auth-session-timeout`},
		{Restricts, asInbound, albRanges, "inbound-cidrs security-group-prefix-lists"},
		{Restricts, asGroups, grouping, "security-groups"},
		{Restricts, asWebACL, webACLName, "wafv2-acl-arn wafv2-acl-name waf-acl-id web-acl-id"},
		{Restricts, asMutual, albMutual, "mutual-authentication"},
		{Restricts, asWhen, conditional, "conditions.*"},
		{Restricts, asInternal, unlessInternal("internal"), "scheme"},
		{Restricts, asPorts, albListens, "listen-ports"},
		{Restricts, asCertificate, albCertificate, "certificate-arn"},

		{Changes, asGroup, nil, "group.name"},
		{Changes, asOrder, nil, "group.order order"},
		{Changes, asName, nil, "load-balancer-name"},
		{Changes, asIPFamily, nil, "ip-address-type"},
		{Changes, asSubnets, nil, "subnets"},
		{Changes, asAttributes, nil, "load-balancer-attributes"},
		{Changes, asTags, nil, "tags"},
		{Changes, asShield, switched, "shield-advanced-protection"},
		{Changes, nothing, nil, "customer-owned-ipv4-pool ipam-ipv4-pool-id minimum-load-balancer-capacity"},
		{Changes, asTLSPolicy, nil, "ssl-policy"},
		{Changes, asListener, nil, "listener-attributes.*"},
		{Restricts, asSecureRedirect, redirecting, "ssl-redirect"},
		{Restricts, asTLS, certified, "create-acm-cert"},
		{Restricts, asTLS, certified, "acm-pca-arn"},
		{Changes, nothing, nil, "manage-backend-security-group-rules"},
		{Changes, asAction, albActions, "actions.*"},
		{Changes, asRewrite, nil, "transforms.*"},
		{Changes, asRegex, switched, "use-regex-path-match"},
		{Changes, asTargetType, albTargets, "target-type"},
		{Changes, asProtocol, nil, "backend-protocol"},
		{Changes, asVersion, nil, "backend-protocol-version"},
		{Changes, asTargetAttributes, nil, "target-group-attributes"},
		{Changes, asCheckPort, nil, "healthcheck-port"},
		{Changes, asCheckProtocol, nil, "healthcheck-protocol"},
		{Changes, asCheckPath, nil, "healthcheck-path"},
		{Changes, asCheckInterval, nil, "healthcheck-interval-seconds"},
		{Changes, asCheckTimeout, nil, "healthcheck-timeout-seconds"},
		{Changes, asCheckHealthy, nil, "healthy-threshold-count"},
		{Changes, asCheckUnhealthy, nil, "unhealthy-threshold-count"},
		{Changes, asCheckCodes, nil, "success-codes"},
		{Changes, asNodeLabels, nil, "target-node-labels"},
		{Changes, nothing, nil, "multi-cluster-target-group target-control-port.* enable-frontend-nlb frontend-nlb-*"},
		{Harmless, nothing, nil, "dry-run-plan"},

		// Of Alibaba Cloud besides.
		{Restricts, asWebRule, unlessOff, "traffic-limit-qps traffic-limit-ip-qps"},
		{Restricts, asInternal, unlessInternal("intranet"), "address-type"},
		{Restricts, asWhen, nil, "canary-by-header canary-by-header-value canary-by-cookie"},
		{Changes, asWeights, switched, "canary canary-weight"},
		{Changes, nothing, nil, "load-balancer-id load-balancer-edition vswitch-ids zone-mappings charge-type overwrite-listener http2-enabled backend-keepalive"},
		{Changes, asRewrite, nil, "rewrite-target"},
		{Changes, asRegex, switched, "use-regex"},
		{Changes, asTLSPolicy, nil, "tls-security-policy security-policy"},
		{Changes, asTargetAttributes, nil, "backend-scheduler slow-start-enabled slow-start-duration connection-drain-enabled connection-drain-timeout"},
		{Changes, asSticky, nil, "sticky-session sticky-session-type cookie cookie-timeout"},
		{Changes, nothing, nil, "healthcheck-enabled healthcheck-connect-port healthcheck-httpcode healthcheck-httpversion healthcheck-method"},
		{Changes, asListener, nil, "enable-cors cors-*"},
		{Changes, nothing, nil, "rule-direction.* server-group-*"},
	},
}
