package foreign

// This file is the annotations of the controllers of Azure's Application Gateway.

var azure = controller{
	name:     "the Application Gateway Ingress Controller",
	prefixes: []string{"appgw.ingress.kubernetes.io", "appgw.ingress.istio.io", "alb.networking.azure.io"},
	sources: []string{
		"github.com/Azure/application-gateway-kubernetes-ingress pkg/annotations/ingress_annotations.go",
		"learn.microsoft.com/azure/application-gateway/ingress-controller-annotations",
		"learn.microsoft.com/azure/application-gateway/for-containers",
	},
	settings: []settings{
		{Restricts, asWebACL, policed, "waf-policy-for-path"},
		{Restricts, asMutual, nil, "appgw-ssl-profile"},
		{Restricts, asInternal, private("true"), "use-private-ip"},
		{Changes, asSecureRedirect, switched, "ssl-redirect"},
		{Changes, asTLS, nil, "appgw-ssl-certificate"},
		{Changes, asPorts, nil, "override-frontend-port"},
		{Changes, asProtocol, nil, "backend-protocol"},
		{Changes, asRewrite, nil, "backend-path-prefix rewrite-rule-set rewrite-rule-set-custom-resource"},
		{Changes, asHostRewrite, nil, "backend-hostname"},
		{Changes, asRules, nil, "hostname-extension"},
		{Changes, asSticky, nil, "cookie-based-affinity cookie-based-affinity-distinct-name"},
		{Changes, asAttributes, nil, "request-timeout"},
		{Changes, asTargetAttributes, nil, "connection-draining connection-draining-timeout"},
		{Changes, asCheckPath, nil, "health-probe-path"},
		{Changes, asCheckPort, nil, "health-probe-port"},
		{Changes, asCheckCodes, nil, "health-probe-status-codes"},
		{Changes, asCheckInterval, nil, "health-probe-interval"},
		{Changes, asCheckTimeout, nil, "health-probe-timeout"},
		{Changes, asCheckUnhealthy, nil, "health-probe-unhealthy-threshold"},
		{Changes, nothing, nil, "health-probe-hostname appgw-trusted-root-certificate rule-priority"},
		{Changes, asGroup, nil, "alb-id alb-name alb-namespace alb-frontend alb-ingress-extension"},
		{Harmless, nothing, nil, "v1alpha3"},
	},
}
