package foreign

// This file lists the controllers of the table, for lookups and for the reference page.

// A Controller is one entry of the table.
type Controller struct {
	Name       string
	Prefixes   []string
	Sources    []string
	OnServices string // the names that are also read on Services; "" for none
	Rows       []Row
}

// A Row is one annotation of a controller.
type Row struct {
	Name    string
	Effect  Effect
	When    string // the case in which it has the effect; "" for always
	Instead string
	Example string
}

// Controllers returns the table.
func Controllers() []Controller {
	var out []Controller
	for _, c := range controllers {
		entry := Controller{
			Name: c.name, Prefixes: c.prefixes, Sources: c.sources, OnServices: c.onServices,
		}
		for _, r := range c.rows {
			row := Row{
				Name: r.name, Effect: r.effect, Instead: r.instead.String(), Example: r.instead.example,
			}
			switch {
			case r.judge != nil:
				row.When = r.judge.says
			case r.effect == Restricts:
				row.When = "unless it is empty"
			}
			entry.Rows = append(entry.Rows, row)
		}
		out = append(out, entry)
	}
	return out
}

// controllers has all controllers, in the order of the reference.
var controllers = indexed([]*controller{
	&awsALB, &ingressNGINX, &nginxInc, &haproxyTechnologies, &haproxyIngress, &traefik, &kong, &google,
	&azure, &contour, &ambassador, &apisix, &higress, &skipper, &openshift, &pomerium, &voyager,
	&ngrok, &citrix, &bigIP, &ibm, &oracle, &yandex, &tencent, &cilium, &bfe, &vmware, &volcengine,
	&tyk, &gravitee, &openAppsec, &bunkerWeb, &tailscale, &serviceLoadBalancers, &kubernetes,
	&olderControllers,
})

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
