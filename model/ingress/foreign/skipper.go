package foreign

// This file has the annotations of Skipper and of kube-ingress-aws-controller.

var skipper = controller{
	name:     "Skipper and kube-ingress-aws-controller",
	prefixes: []string{"zalando.org"},
	sources: []string{
		"github.com/zalando/skipper docs/kubernetes/ingress-usage.md",
		"github.com/zalando-incubator/kube-ingress-aws-controller README.md",
	},
	settings: []settings{
		{Restricts, asWhen, nil, "skipper-predicate"},
		{Restricts, asSignIn, nil, "skipper-filter skipper-routes"},
		{Restricts, asWebRule, nil, "ratelimit"},
		{Restricts, asInternal, unlessInternal("internal"), "aws-load-balancer-scheme"},
		{Restricts, asGroups, grouping, "aws-load-balancer-security-group"},
		{Restricts, asWebACL, guardedBy, "aws-waf-web-acl-id"},
		{Changes, asWeights, nil, "backend-weights"},
		{Restricts, asSecureRedirect, redirecting, "skipper-ingress-redirect"},
		{Changes, asSecureRedirect, nil, "skipper-ingress-redirect-code"},
		{Changes, asRegex, nil, "skipper-ingress-path-mode"},
		{Changes, asTargetAttributes, nil, "skipper-loadbalancer"},
		{Changes, asProtocol, nil, "skipper-backend-protocol"},
		{Changes, nothing, nil, "skipper-backend aws-load-balancer-type aws-load-balancer-http2 aws-nlb-extra-listeners aws-nlb-cascade-http-to-alb"},
		{Changes, asGroup, nil, "aws-load-balancer-shared"},
		{Changes, asIPFamily, nil, "aws-load-balancer-ip-address-type"},
		{Changes, asTLSPolicy, nil, "aws-load-balancer-ssl-policy"},
		{Restricts, asCertificate, certified, "aws-load-balancer-ssl-cert"},
	},
}
