package foreign

// This file is the annotations of the Ingress controller of Google Kubernetes Engine.

var google = controller{
	name:     "the GKE Ingress controller",
	prefixes: []string{"cloud.google.com", "beta.cloud.google.com", "networking.gke.io", "ingress.gcp.kubernetes.io"},
	sources: []string{
		"github.com/kubernetes/ingress-gce pkg/annotations/ingress.go",
		"github.com/kubernetes/ingress-gce pkg/annotations/service.go",
		"cloud.google.com/kubernetes-engine/docs/how-to/ingress-configuration",
	},
	onServices: "backend-config app-protocols",
	settings: []settings{
		// A BackendConfig can have Identity-Aware Proxy, and a security policy of Cloud Armor.
		{Restricts, asSignIn, conditional, "backend-config"},
		{Restricts, asInternal, private("internal"), "load-balancer-type"},
		{Changes, asSecureRedirect, nil, "v1beta1.frontendconfig"}, // redirects to HTTPS, and SSL policies
		{Changes, asTLS, nil, "managed-certificates pre-shared-cert"},
		{Changes, asRewrite, nil, "path-prefix-rewrite"},
		{Changes, asProtocol, nil, "app-protocols"},
		{Changes, nothing, nil, "network-tier internal-load-balancer-subnet load-balancer-subnet internal-load-balancer-allow-global-access load-balancer-ip-addresses transparent-health-checker weighted-load-balancing"},
		{Changes, asSticky, nil, "l4-strong-session-affinity"},
		{Harmless, nothing, nil, "neg neg-status l4-rbs suppress-firewall-xpn-error instance-groups load-balancer-name last-resource-version"},
	},
}
