package foreign

// This file has the annotations of controllers of appliances, of less common proxies, and of web
// application firewalls and private networks in front of Ingress controllers.

var citrix = controller{
	name:     "the NetScaler Ingress Controller, which was Citrix's",
	prefixes: []string{"ingress.citrix.com"},
	sources: []string{"github.com/netscaler/netscaler-k8s-ingress-controller " +
		"docs/configure/annotations.md"},
	settings: []settings{
		{Restricts, asMutual, nil, "ca-secret"},
		{Restricts, nothing, nil, "rewrite-responder* ratelimit_crd csvserver appqoe* wafpolicy* waf_crd auth* bot*"},
		{Restricts, asMutual, &judgement{"if it asks for certificates of clients", clientCertificates}, "frontend-sslprofile frontend_sslprofile sslvserver"},
		{Restricts, asExact, exactPaths("exact"), "path-match-method"},
		{Restricts, asSecurePorts, onlySecure("if it is disallow", hasValue("disallow")), "insecure-termination"},
		{Changes, asSecureRedirect, nil, "insecure-port secure-port secure-service-type insecure-service-type"},
		{Changes, asProtocol, nil, "secure_backend secure-backend backend-secret backend-ca-secret backend-sslprofile backend_sslprofile"},
		{Changes, asCheckPath, nil, "monitor"},
		{Changes, asTargetAttributes, nil, "lbvserver servicegroup"},
		{Restricts, asTLS, certified, "secret preconfigured-certkey"},
		{Changes, nothing, nil, "frontend-ip frontend-ipset-name frontend-httpprofile " +
			"frontend-tcpprofile backend-httpprofile backend-tcpprofile ipam-range external-service " +
			"topology deployment vip-name cachepolicy* udp_timeout"},
		{Harmless, nothing, nil, "analyticsprofile"},
	},
}

// clientCertificates returns the effect of a profile: one with clientauth verifies client
// certificates, and so may one that exists already.
func clientCertificates(u use) Effect { return harmlessIf(empty(u.value), Restricts) }

var bigIP = controller{
	name:     "F5 BIG-IP Container Ingress Services",
	prefixes: []string{"virtual-server.f5.com", "cis.f5.com", "ipam.f5.com"},
	sources: []string{
		"github.com/F5Networks/k8s-bigip-ctlr docs/config_examples",
		"clouddocs.f5.com/containers/latest/userguide/ingress.html",
	},
	settings: []settings{
		{Restricts, asInbound, allowedRanges, "allow-source-range whitelist-source-range"},
		{Restricts, asWebACL, policed, "waf"},
		{Restricts, asMutual, nil, "clientssl"}, // a profile can ask for certificates of clients
		{Restricts, asSecurePorts, onlySecure("if it is false", isBool(false)), "allow-http"},
		{Restricts, nothing, nil, "policy irules"},
		{Restricts, asSecureRedirect, redirecting, "ssl-redirect"},
		{Changes, asRewrite, nil, "rewrite-app-root rewrite-target-url"},
		{Changes, asPorts, nil, "http-port https-port"},
		{Changes, asTargetAttributes, nil, "balance"},
		{Changes, asCheckPath, nil, "health"},
		{Changes, asProtocol, nil, "serverssl"},
		{Changes, nothing, nil, "ip partition translate-server-address multi-service-* ipam-label ip-allocation network-cidr infoblox-netview hostname"},
	},
}

var bfe = controller{
	name:     "the BFE Ingress Controller",
	prefixes: []string{"bfe.ingress.kubernetes.io"},
	sources: []string{
		"github.com/bfenetworks/ingress-bfe docs/en_us/annotation/annotation-indexes.md",
	},
	settings: []settings{
		{Restricts, asWhen, nil, "router.cookie router.header"},
		{Changes, asWeights, nil, "balance.weight loadbalance"},
		{Changes, asRedirect, nil, "redirect.*"},
		{Changes, asRewrite, nil, "rewrite-url.*"},
		{Harmless, nothing, nil, "bfe-ingress-status"},
	},
}

var vmware = controller{
	name:     "the controllers of NSX and of Avi",
	prefixes: []string{"ncp", "aviinfrasetting.ako.vmware.com", "passthrough.ako.vmware.com"},
	sources: []string{
		"techdocs.broadcom.com NSX Container Plugin, Ingress annotations",
		"github.com/vmware/load-balancer-and-ingress-services-for-kubernetes docs/ingress/ingress_v1.md",
	},
	settings: []settings{
		{Restricts, asInbound, allowedRanges, "whitelist-source-range"},
		{Changes, asRewrite, nil, "rewrite_target"},
		{Changes, asRegex, switched, "use-regex"},
		{Restricts, asSecureRedirect, redirecting, "http-redirect ssl-redirect"},
		{Changes, nothing, switched, "enabled enable-tls"},
		{Changes, nothing, nil, "name ingress-controller internal_ip_for_policy http-version gslb-*"},
	},
}

// openAppsec is a firewall that is added to the controllers of others.
var openAppsec = controller{
	name:     "open-appsec",
	prefixes: []string{"openappsec.io"},
	sources: []string{
		"docs.openappsec.io/getting-started/start-with-kubernetes/configuration-using-crds-v1beta2",
	},
	settings: []settings{
		{Restricts, asWebACL, policed, "policy"},
	},
}

// bunkerWeb has all settings of BunkerWeb, with names in capitals. Most of them refuse requests.
var bunkerWeb = controller{
	name:     "BunkerWeb",
	prefixes: []string{"bunkerweb.io"},
	sources:  []string{"docs.bunkerweb.io/latest/integrations", "docs.bunkerweb.io/latest/settings"},
	settings: []settings{
		{Harmless, nothing, nil, "autoconf namespace"},
		{Restricts, asWebACL, unlessOff, "*"},
	},
}

// tailscale serves the devices of a private network only, unless an Ingress asks for a funnel.
var tailscale = controller{
	name:     "the Tailscale operator",
	prefixes: []string{"tailscale.com"},
	sources:  []string{"tailscale.com/docs/kubernetes-operator/reference/tags"},
	settings: []settings{
		{Restricts, asInternal, nil, "tags"}, // the devices that may reach the host
		{Restricts, asInternal, unlessInternal("false"), "funnel"},
		{Changes, nothing, nil, "proxy-class proxy-group hostname"},
	},
}
