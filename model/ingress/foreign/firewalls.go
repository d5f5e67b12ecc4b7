package foreign

// This file is the annotations of what stands before an Ingress controller, or is one for the sake
// of what it keeps away.

// openAppsec is a firewall that is added to the controllers of others.
var openAppsec = controller{
	name:     "open-appsec",
	prefixes: []string{"openappsec.io"},
	sources:  []string{"docs.openappsec.io/getting-started/start-with-kubernetes/configuration-using-crds-v1beta2"},
	settings: []settings{
		{Restricts, asWebACL, policed, "policy"},
	},
}

// bunkerWeb takes all of its settings as annotations, with names in capitals. Most of them keep
// requests away.
var bunkerWeb = controller{
	name:     "BunkerWeb",
	prefixes: []string{"bunkerweb.io"},
	sources:  []string{"docs.bunkerweb.io/latest/integrations", "docs.bunkerweb.io/latest/settings"},
	settings: []settings{
		{Harmless, nothing, nil, "autoconf namespace"},
		{Restricts, asWebACL, unlessOff, "*"},
	},
}

// tailscale is reached by the devices of a private network only, unless an Ingress asks for a
// funnel.
var tailscale = controller{
	name:     "the Tailscale operator",
	prefixes: []string{"tailscale.com"},
	sources:  []string{"tailscale.com/docs/kubernetes-operator/reference/tags"},
	settings: []settings{
		{Restricts, asInternal, nil, "tags"}, // which tell who may reach the host
		{Restricts, asInternal, private("false"), "funnel"},
		{Changes, nothing, nil, "proxy-class proxy-group hostname"},
	},
}
