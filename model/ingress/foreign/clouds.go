package foreign

// This file has the annotations of the Ingress controllers of clouds other than AWS: IBM, Oracle,
// Yandex, Huawei, Tencent, Volcengine, Azure (Application Gateway) and Google (GKE).

var ibm = controller{
	name:     "the Ingress controller of IBM Cloud",
	prefixes: []string{"ingress.bluemix.net", "ingress.cloud.ibm.com"},
	sources: []string{
		"cloud.ibm.com/docs/containers?topic=containers-ingress_annotation",
		"cloud.ibm.com/docs/containers?topic=containers-alb-type-migration",
	},
	settings: []settings{
		{Restricts, asSignIn, nil, "appid-auth iam-ui-auth"},
		{Restricts, asMutual, nil, "mutual-auth"},
		{Restricts, asWebRule, nil, "global-rate-limit service-rate-limit"},
		{Restricts, nothing, nil, "location-modifier location-snippets server-snippets"},
		{Restricts, asInternal, &judgement{"if it names a private ALB, and the load balancer faces the " +
			"internet here", func(u use) Effect {
			return harmlessIf(u.value == "" || u.served.Internal, Restricts)
		}}, "alb-id"},
		{Restricts, asSecureRedirect, redirecting, "redirect-to-https"},
		{Changes, asRewrite, nil, "rewrite-path"},
		{Changes, asPorts, nil, "custom-port tcp-ports"},
		{Changes, asSticky, nil, "sticky-cookie-services"},
		{Changes, asListener, nil, "hsts response-add-headers response-remove-headers add-host-port"},
		{Changes, asProtocol, nil, "ssl-services"},
		{Changes, asTimeout, nil, "proxy-read-timeout keepalive-timeout"},
		{Changes, asDefault, nil, "custom-errors custom-error-actions"},
		{Changes, nothing, nil, `client-max-body-size keepalive-requests large-client-header-buffers
			proxy-add-headers proxy-buffering proxy-buffer-size proxy-buffers proxy-busy-buffers-size
			proxy-connect-timeout proxy-external-service proxy-next-upstream-config proxy-ssl-secret
			upstream-fail-timeout upstream-keepalive upstream-keepalive-timeout upstream-lb-type
			upstream-max-fails istio-services`},
	},
}

var oracle = controller{
	name:     "the OCI native ingress controller",
	prefixes: []string{"oci-native-ingress.oraclecloud.com"},
	sources: []string{
		"github.com/oracle/oci-native-ingress-controller pkg/util/util.go",
		"docs.oracle.com/iaas/Content/ContEng/Tasks/contengsettingupnativeingresscontroller-addon.htm",
	},
	settings: []settings{
		{Restricts, asWebACL, policed, "waf-policy-ocid"},
		{Restricts, asGroups, grouping, "network-security-group-ids"},
		{Restricts, asMutual, nil, "listener-ssl-config"}, // can ask for certificates of clients
		{Restricts, asSecurePorts, onlySecure("if it is there without http-listener-port",
			func(u use) bool { return u.value != "" && u.sibling("http-listener-port") == "" }),
			"https-listener-port"},
		{Changes, asPorts, nil, "http-listener-port"},
		{Restricts, asTLS, certified, "certificate-ocid"},
		{Changes, asVersion, nil, "protocol"},
		{Changes, asTargetAttributes, nil, "policy"},
		{Changes, asProtocol, nil, "backend-tls-enabled backendset-ssl-config"},
		{Changes, asCheckProtocol, nil, "healthcheck-protocol healthcheck-force-plaintext"},
		{Changes, asCheckPort, nil, "healthcheck-port"},
		{Changes, asCheckPath, nil, "healthcheck-path"},
		{Changes, asCheckInterval, nil, "healthcheck-interval-milliseconds"},
		{Changes, asCheckTimeout, nil, "healthcheck-timeout-milliseconds"},
		{Changes, asCheckUnhealthy, nil, "healthcheck-retries"},
		{Changes, asCheckCodes, nil, "healthcheck-return-code healthcheck-response-regex"},
		{Changes, asSticky, nil, "lb-cookie-session-persistence* session-persistence*"},
		{Changes, asTags, nil, "defined-tags freeform-tags"},
		{Changes, asDeletion, nil, "delete-protection-enabled"},
		{Changes, nothing, nil, "id implicit-default-tags"},
	},
}

var yandex = controller{
	name:     "the Application Load Balancer Ingress controller of Yandex Cloud",
	prefixes: []string{"ingress.alb.yc.io"},
	sources: []string{
		"github.com/yandex-cloud/docs en/application-load-balancer/k8s-ref/ingress.md",
		"github.com/yandex-cloud/docs en/application-load-balancer/k8s-ref/service-for-ingress.md",
	},
	onServices: "protocol transport-security health-checks",
	settings: []settings{
		{Restricts, asGroups, grouping, "security-groups"},
		{Restricts, asWebACL, policed, "security-profile-id"},
		{Restricts, asWhen, conditional, "http-method* methods"},
		{Changes, asInternal, nil, "internal-ipv4-address internal-alb-subnet"},
		{Changes, asGroup, nil, "group-name group-settings-name"},
		{Changes, asOrder, nil, "group-order order"},
		{Changes, asSubnets, nil, "subnets"},
		{Changes, asRewrite, nil, "prefix-rewrite use-regex"},
		{Changes, asTimeout, nil, "request-timeout idle-timeout"},
		{Changes, asListener, nil, "modify-header-response-* modify-header-request-*"},
		{Changes, asProtocol, nil, "protocol transport-security backend-tls-*"},
		{Changes, asCheckPath, nil, "health-checks"},
		{Changes, asTargetAttributes, nil, "balancing-* session-affinity-*"},
		{Changes, nothing, nil, "external-ipv4-address external-ipv6-address upgrade-types direct-response.* redirect.* autoscale-* allowed-protocols"},
	},
}

// huaweiSettings has the settings of the ELB Ingress controller of Huawei Cloud, under
// kubernetes.io: support.huaweicloud.com/usermanual-cce/cce_10_0695.html and cce_10_0832.html.
var huaweiSettings = []settings{
	{Restricts, asWebRule, dependingOn("elb.acl-status", off), "elb.acl-id elb.acl-type elb.acl-*"},
	{Restricts, asWebRule, unlessOff, "elb.acl-status"},
	{Restricts, asMutual, nil, "elb.client-ca-cert elb.tls-client-ca*"},
	{Restricts, asWhen, conditional, "elb.conditions.*"},
	{Restricts, asWebRule, unlessOff, "elb.traffic-limit* elb.limit-*"},
	{Restricts, asSecureRedirect, redirecting, "elb.ssl-redirect"},
	{Changes, asRewrite, nil, "elb.rewrite-target elb.url-rewrite*"},
	{Changes, asWeights, nil, "elb.canary elb.canary-weight"},
	{Restricts, asWhen, nil, "elb.canary-by-header elb.canary-by-header-value elb.canary-by-cookie"},
	{Changes, asTLSPolicy, nil, "elb.security_policy_id elb.tls-ciphers-policy"},
	{Changes, nothing, byItsName, "elb.*"},
}

var tencent = controller{
	name:     "the CLB Ingress controller of Tencent Cloud",
	prefixes: []string{"ingress.cloud.tencent.com"},
	sources:  []string{"cloud.tencent.com/document/product/457/45700"},
	settings: []settings{
		{Restricts, asGroups, grouping, "security-groups"},
		{Changes, asGroups, switched, "pass-to-target"},
		{Restricts, asSecureRedirect, redirecting, "auto-rewrite rewrite-support"},
		{Changes, asPorts, nil, "listen-ports"},
		{Changes, nothing, nil, "direct-access tke-service-config tke-service-config-auto " +
			"enable-grace-shutdown enable-grace-shutdown-tkex cross-region-id cross-vpc-id snat-pro-info " +
			"modification-protection"},
	},
}

// tencentSettings has the settings of Tencent Cloud under kubernetes.io.
var tencentSettings = []settings{
	{Restricts, asInternal, &judgement{"if the load balancer faces the internet here",
		func(u use) Effect {
			return harmlessIf(u.value == "" || u.served.Internal, Restricts)
		}}, "ingress.subnetid"},
	{Changes, nothing, nil, "ingress.existlbid ingress.qcloud-loadbalance-id " +
		"ingress.extensiveparameters ingress.http-rules ingress.https-rules ingress.rule-mix " +
		"ingress.internetchargetype ingress.internetmaxbandwidthout"},
}

var volcengine = controller{
	name:     "the Ingress controllers of Volcengine and BytePlus",
	prefixes: []string{"ingress.vke.volcengine.com"},
	sources:  []string{"volcengine.com/docs/6460/132415"},
	settings: []settings{
		{Restricts, asInternal, unlessInternal("private"), "loadbalancer-network-type"},
		{Changes, asPorts, nil, "loadbalancer-port loadbalancer-protocol"},
		{Changes, asTargetAttributes, nil, "loadbalancer-scheduler"},
		{Changes, asProtocol, nil, "loadbalancer-backend-protocol"},
		{Changes, asTargetType, switched, "loadbalancer-pass-through"},
		{Changes, nothing, nil, "loadbalancer-id loadbalancer-rules-configs apig-instance-name"},
	},
}

var azure = controller{
	name: "the Application Gateway Ingress Controller",
	prefixes: []string{"appgw.ingress.kubernetes.io", "appgw.ingress.istio.io",
		"alb.networking.azure.io"},
	sources: []string{
		"github.com/Azure/application-gateway-kubernetes-ingress pkg/annotations/ingress_annotations.go",
		"learn.microsoft.com/azure/application-gateway/ingress-controller-annotations",
		"learn.microsoft.com/azure/application-gateway/for-containers",
	},
	settings: []settings{
		{Restricts, asWebACL, policed, "waf-policy-for-path"},
		{Restricts, asMutual, nil, "appgw-ssl-profile"},
		{Restricts, asInternal, unlessInternal("true"), "use-private-ip"},
		{Restricts, asSecureRedirect, redirecting, "ssl-redirect"},
		{Restricts, asTLS, certified, "appgw-ssl-certificate"},
		{Changes, asPorts, nil, "override-frontend-port"},
		{Changes, asProtocol, nil, "backend-protocol"},
		{Changes, asRewrite, nil, "backend-path-prefix rewrite-rule-set rewrite-rule-set-custom-resource"},
		{Changes, asHostRewrite, nil, "backend-hostname"},
		{Changes, asRules, nil, "hostname-extension"},
		{Changes, asSticky, nil, "cookie-based-affinity cookie-based-affinity-distinct-name"},
		{Changes, asTimeout, nil, "request-timeout"},
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

var google = controller{
	name: "the GKE Ingress controller",
	prefixes: []string{"cloud.google.com", "beta.cloud.google.com", "networking.gke.io",
		"ingress.gcp.kubernetes.io"},
	sources: []string{
		"github.com/kubernetes/ingress-gce pkg/annotations/ingress.go",
		"github.com/kubernetes/ingress-gce pkg/annotations/service.go",
		"cloud.google.com/kubernetes-engine/docs/how-to/ingress-configuration",
	},
	onServices: "backend-config app-protocols",
	settings: []settings{
		// A BackendConfig can have Identity-Aware Proxy, and a security policy of Cloud Armor.
		// It can also have settings that restrict nothing, such as a health check.
		{Restricts, asBackendConfig, conditional, "backend-config"},
		{Restricts, asInternal, unlessInternal("internal"), "load-balancer-type"},
		// A FrontendConfig can have redirects to HTTPS, and an SSL policy.
		{Restricts, asFrontend, redirecting, "v1beta1.frontendconfig"},
		{Restricts, asTLS, certified, "managed-certificates pre-shared-cert"},
		{Changes, asRewrite, nil, "path-prefix-rewrite"},
		{Changes, asProtocol, nil, "app-protocols"},
		{Changes, nothing, nil, "network-tier internal-load-balancer-subnet load-balancer-subnet " +
			"internal-load-balancer-allow-global-access load-balancer-ip-addresses " +
			"transparent-health-checker weighted-load-balancing"},
		{Changes, asSticky, nil, "l4-strong-session-affinity"},
		{Harmless, nothing, nil, "neg neg-status l4-rbs suppress-firewall-xpn-error instance-groups load-balancer-name last-resource-version"},
	},
}
