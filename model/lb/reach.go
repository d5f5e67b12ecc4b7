package lb

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/routing"
)

// This file finds what a port cannot pass on: some clouds speak HTTP/2 to targets only for clients that came
// over TLS.

// A reach knows which ports reach which backends.
type reach struct {
	table *routing.Table
	cloud string
	plain map[int32]bool // ports that do not reach backends that speak HTTP2 or GRPC
}

func newReach(t *routing.Table, c Capabilities) reach {
	r := reach{table: t, cloud: c.Name, plain: map[int32]bool{}}
	for _, l := range t.Listeners {
		if c.HTTP2NeedsTLS && l.Protocol == "HTTP" {
			r.plain[l.Port] = true
		}
	}
	return r
}

// cannot says why an action cannot be carried out on a port, or "".
func (r reach) cannot(a routing.Action, port int32) string {
	if !r.plain[port] {
		return ""
	}
	for _, w := range a.Forward {
		if b := r.table.Backends[w.Backend]; b.Version == "HTTP2" || b.Version == "GRPC" {
			return fmt.Sprintf("Service %s speaks %s, which %s serves on HTTPS ports only", b.Service, b.Version, r.cloud)
		}
	}
	return ""
}

// cannotDefault says why a default cannot answer where it is to: on its own ports, and on those of the
// hosts that its Ingress names.
func (r reach) cannotDefault(d routing.Default) string {
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
