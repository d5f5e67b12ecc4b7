package foreign

import "slices"

// This file has the annotations under prefixes that many programs share.

// kubernetes has the annotations under kubernetes.io. Fairlead reads the class, too.
var kubernetes = controller{
	name:     "the GKE Ingress controller, Contour, and the controllers of Huawei and Tencent Cloud",
	prefixes: []string{"kubernetes.io"},
	sources: []string{
		"github.com/kubernetes/ingress-gce pkg/annotations/ingress.go",
		"github.com/projectcontour/contour internal/annotation/annotations.go",
		"support.huaweicloud.com/usermanual-cce/cce_10_0695.html",
		"cloud.tencent.com/document/product/457/45700",
	},
	others:     true,
	onServices: "ingress.*",
	settings: slices.Concat([]settings{
		{Restricts, asSecurePorts, onlySecure("if it is false", isBool(false)), "ingress.allow-http"},
		{Changes, nothing, nil, "ingress.global-static-ip-name ingress.regional-static-ip-name"},
		{Harmless, nothing, nil, "ingress.class tls-acme"},
	}, huaweiSettings, tencentSettings),
}

// olderControllers has the annotations under ingress.kubernetes.io, of several controllers. A name
// restricts if it does for one of them.
var olderControllers = controller{
	name:       "older controllers: NGINX, HAProxy, Traefik 1, Voyager, Contour, Kong, F5, GKE",
	prefixes:   []string{"ingress.kubernetes.io"},
	sources:    []string{"the documents of those, which are listed above"},
	onServices: "*",
	settings: slices.Concat([]settings{
		{Restricts, asSecurePorts, onlySecure("if it is false", isBool(false)), "allow-http"},
		{Harmless, nothing, nil, `backends forwarding-rule https-forwarding-rule target-proxy
			https-target-proxy url-map ssl-cert static-ip redirect-url-map firewall-rule backend-service
			healthcheck`},
	}, nginxSettings, haproxyTechnologiesSettings, haproxyIngressSettings, traefik1Settings,
		voyagerSettings),
}

// serviceLoadBalancers has the annotations for Services of type LoadBalancer. On an Ingress they
// are a mistake, or the controller copies them to such a Service.
var serviceLoadBalancers = controller{
	name: "controllers of Services of type LoadBalancer",
	prefixes: []string{"service.beta.kubernetes.io", "service.kubernetes.io",
		"service.alpha.kubernetes.io"},
	sources: []string{
		"github.com/kubernetes-sigs/aws-load-balancer-controller pkg/annotations/constants.go",
		"cloud-provider-azure.sigs.k8s.io/topics/loadbalancer",
		"docs.cilium.io/en/stable/network/servicemesh/ingress, ingressLBAnnotationPrefixes",
	},
	settings: []settings{
		{Restricts, asInbound, allowedRanges, `load-balancer-source-ranges aws-load-balancer-source-ranges
			azure-allowed-ip-ranges azure-allowed-service-tags
			aws-load-balancer-security-group-prefix-lists`},
		// docs.digitalocean.com/products/kubernetes/how-to/add-load-balancers, lists of cidr:RANGE and
		// ip:ADDRESS; and github.com/linode/linode-cloud-controller-manager
		// cloud/annotations/annotations.go.
		{Restricts, asInbound, nil, "do-loadbalancer-allow-rules do-loadbalancer-deny-rules linode-loadbalancer-firewall-acl linode-loadbalancer-firewall-id"},
		{Restricts, asGroups, grouping, "aws-load-balancer-security-groups aws-load-balancer-extra-security-groups"},
		{Restricts, asInternal, unlessInternal("true", "internal", "0.0.0.0/0"), `
			aws-load-balancer-internal azure-load-balancer-internal oci-load-balancer-internal
			openstack-internal-load-balancer aws-load-balancer-scheme gce-load-balancer-type`},
		{Harmless, nothing, nil, "topology-mode topology-aware-hints backend-service firewall-rule* healthcheck tcp-forwarding-rule* udp-forwarding-rule* l3-forwarding-rule*"},
		{Changes, nothing, byItsName, "*"},
	},
}
