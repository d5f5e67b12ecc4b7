package lowering

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds the limits of ports: some clouds use HTTP/2 to targets only for requests over
// TLS, and do not redirect from HTTPS to HTTP.

// A portLimits has the limits of ports for backends and redirects.
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

// whyNot returns why a port cannot have an action, or "".
func (r portLimits) whyNot(a routing.Action, port int32) string {
	if protocol := r.protocols[port]; a.Redirect != nil && protocol != "" {
		return r.whyNoRedirect(*a.Redirect, protocol)
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

// whyNoRedirect returns why requests over a protocol cannot be redirected so, or "".
func (r portLimits) whyNoRedirect(to routing.Redirect, protocol routing.Protocol) string {
	scheme := strings.ToUpper(to.Scheme)
	keeps := func(value, placeholder string) bool { return value == "" || value == placeholder }
	switch {
	case protocol == routing.HTTPS && scheme == "HTTP":
		return r.caps.Name + " redirects no request from HTTPS to HTTP"
	case (scheme == "" || scheme == string(protocol)) && keeps(to.Host, "#{host}") &&
		keeps(to.Port, "#{port}") && keeps(to.Path, "/#{path}"):
		return r.caps.Name +
			" makes a redirect only if it changes the scheme, the host, the port or the path"
	}
	return ""
}

// whyNoDefault returns why a default cannot answer on its own ports, or on those of its Ingress's
// hosts.
func (r portLimits) whyNoDefault(d routing.Default) string {
	ports := slices.Clone(d.Ports)
	for _, n := range r.table.Names {
		if n.Owner == d.Owner {
			ports = append(ports, n.Ports...)
		}
	}
	for _, port := range ports {
		if why := r.whyNot(d.Action, port); why != "" {
			return why
		}
	}
	return ""
}
