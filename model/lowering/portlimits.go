package lowering

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds what a port cannot do that another one can: some clouds speak HTTP/2 to targets
// only for clients that came over TLS, and send nobody from HTTPS to HTTP.

// A portLimits knows which ports reach which backends, and where redirects lead to.
type portLimits struct {
	table     *precedence.Table
	caps      lb.Capabilities
	plain     map[int32]bool             // ports that do not reach backends that speak HTTP2 or GRPC
	protocols map[int32]routing.Protocol // of ports that are strict about redirects
}

func newPortLimits(t *precedence.Table, listeners []routing.Listener,
	c lb.Capabilities) portLimits {
	r := portLimits{table: t, caps: c, plain: map[int32]bool{},
		protocols: map[int32]routing.Protocol{}}
	for _, l := range listeners {
		if c.StrictRedirects {
			r.protocols[l.Port] = l.Protocol
		}
		if c.HTTP2NeedsTLS && l.Protocol == routing.HTTP {
			r.plain[l.Port] = true
		}
	}
	return r
}

// cannot says why an action cannot be carried out on a port, or "".
func (r portLimits) cannot(a routing.Action, port int32) string {
	if protocol := r.protocols[port]; a.Redirect != nil && protocol != "" {
		return r.cannotRedirect(*a.Redirect, protocol)
	}
	if !r.plain[port] {
		return ""
	}
	for _, w := range a.Forward {
		if b := r.table.Backends[w.Backend]; r.caps.NeedsTLS(b.Version) {
			return fmt.Sprintf("Service %s speaks %s, which %s serves on HTTPS ports only", b.Service,
				b.Version, r.caps.Name)
		}
	}
	return ""
}

// cannotRedirect says why a redirect cannot be made of requests over a protocol, or "".
func (r portLimits) cannotRedirect(to routing.Redirect, protocol routing.Protocol) string {
	scheme := strings.ToUpper(to.Scheme)
	keeps := func(value, placeholder string) bool { return value == "" || value == placeholder }
	switch {
	case protocol == routing.HTTPS && scheme == "HTTP":
		return r.caps.Name + " sends nobody from HTTPS to HTTP"
	case (scheme == "" || scheme == string(protocol)) && keeps(to.Host, "#{host}") &&
		keeps(to.Port, "#{port}") && keeps(to.Path, "/#{path}"):
		return r.caps.Name +
			" makes a redirect only if it changes the scheme, the host, the port or the path"
	}
	return ""
}

// cannotDefault says why a default cannot answer where it is to: on its own ports, and on those of
// the hosts that its Ingress names.
func (r portLimits) cannotDefault(d routing.Default) string {
	ports := slices.Clone(d.Ports)
	for _, n := range r.table.Names {
		if n.Owner == d.Owner {
			ports = append(ports, n.Ports...)
		}
	}
	for _, port := range ports {
		if why := r.cannot(d.Action, port); why != "" {
			return why
		}
	}
	return ""
}
