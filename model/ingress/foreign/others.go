package foreign

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/ingress/spelling"
)

// This file has the controllers that have no table: their prefixes, and one rule for all of them. An
// annotation restricts where a word of its name says so (words.go), or where it is one of the names
// here, which have no such word. All others are changes.

// controllers has all controllers. Those of the two tables come first.
var controllers = indexed([]*controller{
	&awsALB, &ingressNGINX, &nginxInc,

	// github.com/haproxytech/kubernetes-ingress documentation/annotations.md
	other("HAProxy Kubernetes Ingress Controller", "haproxy.org haproxy.com", "*",
		restricting("client-ca client-crt-optional client-strict-sni"), encrypting("ssl-certificate")),
	// haproxy-ingress.github.io/docs/configuration/keys
	other("HAProxy Ingress", "haproxy-ingress.github.io", "*",
		restricting("config-* http-header-match http-header-match-regex"), encrypting("cert-signer"),
		settings{Restricts, asExact, exactPaths("exact"), "path-type"},
		settings{Restricts, asSecurePorts, onlySecure("if it is 443 alone", hasValue("443")), "http-port-match"}),
	// doc.traefik.io/traefik/reference/routing-configuration/kubernetes/ingress, and v1.7/configuration/backends/kubernetes
	other("Traefik", "traefik.ingress.kubernetes.io hub.traefik.io", "*", restricting("access-control-policy max-conn-*"),
		settings{Restricts, asMutual, nil, "router.tls.options"},
		// A router has TLS with router.tls without a value, too, or with any of the names behind it:
		// github.com/traefik/paerser parser/nodes_metadata.go, which reads true in any case.
		settings{Restricts, asSecurePorts, onlySecure("unless it is false",
			func(u use) bool { return !isBool(false)(u) }), "router.tls router.tls.certresolver router.tls.domains.*"},
		encrypting("redirect-entry-point"),
		settings{Restricts, asExact, exactPaths("path", "pathstrip"), "router.pathmatcher rule-type"},
		settings{Restricts, asSecurePorts, entryPoints, "router.entrypoints frontend-entry-points"}),
	// docs.konghq.com/kubernetes-ingress-controller/latest/reference/annotations; override names a
	// KongIngress, which can have methods, headers and protocols.
	other("the Kong Ingress Controller", "konghq.com configuration.konghq.com plugins.konghq.com ingress.konghq.com", "*",
		restricting("headers.* methods override snis"),
		settings{Restricts, asSecurePorts, onlySecure("if it has neither http nor grpc", func(u use) bool {
			named := u.list()
			return u.value != "" && !slices.Contains(named, "http") &&
				(slices.Contains(named, "https") || !slices.Contains(named, "grpc"))
		}), "protocols"}),
	// cloud.google.com/kubernetes-engine/docs/how-to/ingress-configuration: a BackendConfig can have
	// Identity-Aware Proxy, and a security policy of Cloud Armor; a FrontendConfig redirects to HTTPS.
	other("the GKE Ingress controller", "cloud.google.com beta.cloud.google.com networking.gke.io ingress.gcp.kubernetes.io",
		"backend-config app-protocols",
		settings{Restricts, asBackendConfig, conditional, "backend-config"},
		settings{Restricts, asFrontend, redirecting, "v1beta1.frontendconfig"},
		encrypting("managed-certificates pre-shared-cert"),
		settings{Harmless, nothing, nil, "neg neg-status instance-groups suppress-firewall-xpn-error"}),
	// learn.microsoft.com/azure/application-gateway/ingress-controller-annotations
	other("the Application Gateway Ingress Controller",
		"appgw.ingress.kubernetes.io appgw.ingress.istio.io alb.networking.azure.io", "",
		restricting("appgw-ssl-profile"), encrypting("appgw-ssl-certificate")),
	// projectcontour.io/docs/main/config/annotations
	other("Contour", "projectcontour.io contour.heptio.com", "*"),
	// github.com/emissary-ingress/emissary docs/topics/running/ingress-controller.md: config can be a
	// Mapping, a RateLimitService or an AuthService.
	other("Emissary-ingress, which was Ambassador", "getambassador.io", "config", restricting("config")),
	// github.com/apache/apisix-ingress-controller docs/en/latest/concepts/annotations.md
	other("the Apache APISIX Ingress Controller", "k8s.apisix.apache.org", "", restricting("http-allow-methods"), encrypting("http-to-https")),
	// higress.cn/docs/latest/user/annotation: those of ingress-nginx, and others
	{
		name: "Higress, and the MSE Ingress of Alibaba Cloud", prefixes: []string{"higress.io", "mse.ingress.kubernetes.io"}, guessed: true,
		settings: slices.Concat([]settings{restricting("match-method exact-match-* regex-match-* prefix-match-*")}, nginxSettings),
	},
	// github.com/zalando/skipper docs/kubernetes/ingress-usage.md
	other("Skipper and kube-ingress-aws-controller", "zalando.org", "",
		restricting("skipper-filter skipper-predicate skipper-routes"), encrypting("skipper-ingress-redirect aws-load-balancer-ssl-cert")),
	// github.com/openshift/route-controller-manager pkg/route/ingress/ingress.go
	other("the router of OpenShift", "haproxy.router.openshift.io router.openshift.io route.openshift.io", "",
		settings{Restricts, asSecurePorts, onlySecure("if it is edge, reencrypt or passthrough",
			hasValue("edge", "reencrypt", "passthrough")), "termination"}),
	// pomerium.com/docs/deploy/k8s/ingress: it admits requests by a policy alone, which may be
	// elsewhere, unless the Ingress is public.
	other("Pomerium", "ingress.pomerium.io", "",
		settings{Harmless, nothing, nil, "name description logo_url"},
		settings{Restricts, asSignIn, pomerium, "*"}),
	// github.com/voyagermesh/voyager apis/voyager/v1beta1/annotations.go
	other("Voyager", "ingress.appscode.com voyager.appscode.com", "*", restricting("backend-rule frontend-rule max-connections")),
	// github.com/ngrok/ngrok-operator internal/annotations/annotations.go
	other("the ngrok operator", "k8s.ngrok.com", "", restricting("modules traffic-policy")),
	// github.com/netscaler/netscaler-k8s-ingress-controller docs/configure/annotations.md
	other("the NetScaler Ingress Controller", "ingress.citrix.com ingress.netscaler.com", "",
		restricting("appqoe* bot* ca-secret csvserver rewrite-responder* wafpolicy*"),
		settings{Restricts, asMutual, conditional, "frontend-sslprofile frontend_sslprofile sslvserver"},
		settings{Restricts, asExact, exactPaths("exact"), "path-match-method"},
		settings{Restricts, asSecurePorts, onlySecure("if it is disallow or redirect", hasValue("disallow", "redirect")), "insecure-termination"},
		encrypting("secret preconfigured-certkey")),
	// clouddocs.f5.com/containers/latest/userguide/ingress.html; a profile can ask for certificates of clients
	other("F5 BIG-IP Container Ingress Services", "virtual-server.f5.com cis.f5.com ipam.f5.com", "", restricting("clientssl irules policy"), allowingHTTP("allow-http")),
	// cloud.ibm.com/docs/containers?topic=containers-ingress_annotation; alb-id can name a private ALB
	other("the Ingress controller of IBM Cloud", "ingress.bluemix.net ingress.cloud.ibm.com", "",
		restricting("location-modifier"), settings{Restricts, asInternal, unlessServedInside, "alb-id"}),
	// github.com/oracle/oci-native-ingress-controller pkg/util/util.go; the listener's can ask for certificates of clients
	other("the OCI native ingress controller", "oci-native-ingress.oraclecloud.com", "", restricting("listener-ssl-config"),
		encrypting("certificate-ocid https-listener-port")),
	// github.com/yandex-cloud/docs en/application-load-balancer/k8s-ref/ingress.md
	other("the Application Load Balancer Ingress controller of Yandex Cloud", "ingress.alb.yc.io",
		"protocol transport-security health-checks", restricting("http-method* methods")),
	// cloud.tencent.com/document/product/457/45700
	other("the CLB Ingress controller of Tencent Cloud", "ingress.cloud.tencent.com", "", encrypting("auto-rewrite rewrite-support")),
	// github.com/cilium/cilium operator/pkg/ingress/annotations/annotations.go
	other("Cilium", "ingress.cilium.io", ""),
	// github.com/bfenetworks/ingress-bfe docs/en_us/annotation/annotation-indexes.md
	other("the BFE Ingress Controller", "bfe.ingress.kubernetes.io", "", restricting("router.cookie router.header")),
	// docs.vmware.com, NSX Container Plugin; github.com/vmware/load-balancer-and-ingress-services-for-kubernetes
	other("the controllers of NSX and of Avi", "ncp aviinfrasetting.ako.vmware.com passthrough.ako.vmware.com", "",
		encrypting("http-redirect")),
	// docs.stackit.cloud, Application Load Balancer
	other("the Application Load Balancer controller of STACKIT", "alb.stackit.cloud", ""),
	// volcengine.com/docs/6460/132415
	other("the Ingress controllers of Volcengine and BytePlus", "ingress.vke.volcengine.com", ""),
	// tyk.io/docs/product-stack/tyk-operator/tyk-ingress-controller; a template can have authentication
	other("the Tyk Operator", "tyk.io", "", restricting("template")),
	// documentation.gravitee.io/gravitee-kubernetes-operator-gko/guides/gravitee-ingress-controller
	other("the Gravitee Kubernetes Operator", "gravitee.io", "", restricting("template")),
	// docs.openappsec.io, Install With Helm
	other("open-appsec", "openappsec.io", "", restricting("policy")),
	// docs.bunkerweb.io/latest/integrations: any setting of the firewall, by its name
	other("BunkerWeb", "bunkerweb.io", "", settings{Harmless, nothing, nil, "namespace"}, restricting("*")),
	// tailscale.com/kb/1439/kubernetes-operator-cluster-ingress: an Ingress is in the private network,
	// unless funnel is true.
	other("the Tailscale operator", "tailscale.com", "", restricting("tags"),
		settings{Restricts, asInternal, unlessInternal("false"), "funnel"}),

	// On an Ingress these are a mistake, or the controller copies them to such a Service:
	// docs.cilium.io/en/stable/network/servicemesh/ingress, ingressLBAnnotationPrefixes.
	other("controllers of Services of type LoadBalancer",
		"service.beta.kubernetes.io service.kubernetes.io service.alpha.kubernetes.io", "",
		restricting("do-loadbalancer-allow-rules"), // docs.digitalocean.com/products/kubernetes/how-to/add-load-balancers
		settings{Harmless, nothing, nil, "topology-mode topology-aware-hints backend-service firewall-rule* healthcheck tcp-forwarding-rule* udp-forwarding-rule* l3-forwarding-rule*"}),
	// github.com/kubernetes/ingress-gce pkg/annotations/ingress.go; of Huawei Cloud
	// support.huaweicloud.com/usermanual-cce/cce_10_0695.html; of Tencent Cloud, above. Other programs
	// use the prefix, too.
	&kubernetes,
	// A name restricts if it does for one of the controllers that used the prefix.
	{
		name:     "older controllers: NGINX, HAProxy, Traefik 1, Voyager, Contour, Kong, F5, GKE",
		prefixes: []string{"ingress.kubernetes.io"}, onServices: "*", guessed: true,
		settings: slices.Concat([]settings{
			allowingHTTP("allow-http"),
			{Harmless, nothing, nil, `backends forwarding-rule https-forwarding-rule target-proxy
				https-target-proxy url-map ssl-cert static-ip redirect-url-map firewall-rule backend-service healthcheck`},
			restricting("client-ca client-crt-optional client-strict-sni config-* http-header-match http-header-match-regex backend-rule frontend-rule max-conn-* max-connections"),
			{Restricts, asSecurePorts, onlySecure("if it is 443 alone", hasValue("443")), "http-port-match"},
			encrypting("ssl-certificate cert-signer redirect-entry-point"),
			{Restricts, asExact, exactPaths("exact", "path", "pathstrip"), "path-type rule-type"},
			{Restricts, asSecurePorts, entryPoints, "frontend-entry-points"},
		}, nginxSettings),
	},
})

var kubernetes = controller{
	name:     "the GKE Ingress controller, Contour, and the controllers of Huawei and Tencent Cloud",
	prefixes: []string{"kubernetes.io"}, others: true, onServices: "ingress.*",
	settings: []settings{
		allowingHTTP("ingress.allow-http"),
		{Restricts, asInternal, unlessServedInside, "ingress.subnetid"},
		{Harmless, nothing, nil, "ingress.class tls-acme"},
		// An internal load balancer is asked for in JSON, and the ports as for an ALB.
		{Restricts, asInternal, unlessInner, "elb.autocreate"},
		{Restricts, asPorts, albListens, "elb.listen-ports"},
		restricting("elb.acl-* elb.limit-* elb.traffic-limit* elb.client-ca-cert elb.tls-client-ca* elb.conditions.* elb.canary-by-*"),
		{Changes, nothing, byItsName, "elb.*"},
	},
}

// other returns a controller without a table. Prefixes, and names on Services, are separated by
// spaces.
func other(name, prefixes, onServices string, named ...settings) *controller {
	return &controller{name: name, prefixes: strings.Fields(prefixes), onServices: onServices, settings: named, guessed: true}
}

// restricting returns names that restrict unless they are off.
func restricting(names string) settings {
	return settings{Restricts, nothing, unlessSwitchedOff, names}
}

// unlessSwitchedOff is unlessOff where none can be the name of an object.
var unlessSwitchedOff = &judgement{"unless it is empty or off", func(u use) Effect {
	return harmlessIf(switchedOff(u.value), Restricts)
}}

func switchedOff(value string) bool {
	return off(value) && !strings.EqualFold(strings.TrimSpace(value), "none")
}

// encrypting returns names whose authors expect HTTPS.
func encrypting(names string) settings { return settings{Restricts, asSecurePorts, certified, names} }

// allowingHTTP returns names that forbid plain HTTP where they are false.
func allowingHTTP(names string) settings {
	return settings{Restricts, asSecurePorts, onlySecure("if it is false", isBool(false)), names}
}

// unlessServedInside is for settings that put a load balancer into a private network.
var unlessServedInside = &judgement{"if the load balancer faces the internet here", func(u use) Effect {
	return harmlessIf(u.value == "" || u.served.Internal, Restricts)
}}

// unlessInner is for the type of a load balancer of Huawei Cloud: support.huaweicloud.com/usermanual-cce/cce_10_0695.html.
var unlessInner = &judgement{"if it is of the type inner, and the load balancer faces the internet here", func(u use) Effect {
	if strings.Contains(u.value, `"inner"`) {
		return harmlessIf(u.served.Internal, Restricts)
	}
	return harmlessIf(empty(u.value), Changes)
}}

// pomerium is for all settings of Pomerium.
var pomerium = &judgement{"unless allow_public_unauthenticated_access is true", func(u use) Effect {
	if isBool(true)(use{value: u.sibling("allow_public_unauthenticated_access")}) {
		return harmlessIf(strings.HasPrefix(u.value, "true"), Changes)
	}
	return Restricts
}}

// entryPoints uses the names of entry points in Traefik's documents: web and http have no TLS. One
// with another name may be in a private network.
var entryPoints = &judgement{"unless web or http is among them", func(u use) Effect {
	private, plain, secure, unknown := false, false, false, false
	for _, name := range u.list() {
		private = private || strings.Contains(name, "internal") || strings.Contains(name, "private")
		plain = plain || name == "web" || name == "http"
		secure = secure || name == "websecure" || name == "https"
		unknown = unknown || !slices.Contains([]string{"", "web", "http", "websecure", "https"}, name)
	}
	switch {
	case strings.TrimSpace(u.value) == "":
		return Harmless
	case private:
		return harmlessIf(u.served.Internal, Restricts)
	case !plain && u.served.plain(), !plain && !secure && !u.served.Internal:
		return Restricts
	}
	return harmlessIf(!unknown, Changes)
}}

// byPrefix has the controllers by their prefixes.
var byPrefix = func() map[string]*controller {
	out := map[string]*controller{}
	for _, c := range controllers {
		for _, p := range c.prefixes {
			out[p] = c
		}
	}
	return out
}()

// unlisted stands for controllers that are not known, whose prefix says that they are for Ingresses.
// Their names are looked up in the two tables.
var unlisted = indexed([]*controller{{
	name: "a controller that is not known", onServices: "*", guessed: true,
	settings: slices.Concat([]settings{restricting("headers.* config-* client-ca"), allowingHTTP("allow-http")},
		named(Restricts, awsALB.settings, nginxSettings, nginxInc.settings)),
}})[0]

// unlistedUnderKubernetes has the same names after kubernetes.io/ingress., as GKE writes its own.
var unlistedUnderKubernetes = func() *controller {
	c := &controller{name: unlisted.name, onServices: "*", guessed: true, stem: "ingress."}
	for _, s := range unlisted.settings {
		names := strings.Fields(s.names)
		for i := range names {
			names[i] = c.stem + names[i]
		}
		s.names = strings.Join(names, " ")
		c.settings = append(c.settings, s)
	}
	return indexed([]*controller{c})[0]
}()

// restrictingOnly is for prefixes that may belong to other programs: only what restricts counts.
var restrictingOnly = func() *controller {
	c := &controller{name: unlisted.name, onServices: "*", others: true}
	c.settings = unlisted.settings
	return indexed([]*controller{c})[0]
}()

// distinctive has the restricting names that are well known enough to have the same meaning under
// any prefix.
var distinctive = func() map[string]bool {
	out := map[string]bool{}
	for _, s := range named(Restricts, nginxSettings, awsALB.settings) {
		for name := range strings.FieldsSeq(s.names) {
			if strings.Count(name, "-") > 0 && !strings.HasSuffix(name, "*") {
				out[name] = true
			}
		}
	}
	return out
}()

// named returns the settings with an effect, without patterns that are not words by themselves.
func named(effect Effect, tables ...[]settings) []settings {
	var out []settings
	for _, s := range slices.Concat(tables...) {
		if s.effect == effect {
			out = append(out, s)
		}
	}
	return out
}

// unlistedOf returns the controller for a prefix and a name, in lower case, that are not in the
// table; nil if they are not for an Ingress controller.
func unlistedOf(prefix, name string) *controller {
	labels := strings.Split(prefix, ".")
	switch {
	case prefix == "kubernetes.io" && strings.HasPrefix(name, unlistedUnderKubernetes.stem):
		return unlistedUnderKubernetes
	case strings.Contains(prefix, "fairlead") || spelling.Within(prefix, "fairlead.dev", 2):
		return nil // it is a misspelling of Fairlead's prefix
	case slices.Contains(labels, "ingress") && slices.Contains(labels, "kubernetes"):
		return unlisted
	case strings.Contains(prefix, "ingress"), distinctive[name]:
		return restrictingOnly
	}
	return nil
}
