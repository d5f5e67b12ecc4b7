package fake

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"

	"fairlead.dev/fairlead/model/lb"
)

// This file opens and closes the ports of load balancers.

// open opens a port of a load balancer. It returns the port of the socket if that is another one,
// else zero. The port answers once it has a Service. Without a data plane every port is free. If
// another process serves, the port is only tried.
func (c *Cloud) open(r *record, port int32) (int32, error) {
	if !c.options.Serve {
		return 0, nil
	}
	socket, err := c.bind(r, port, port, 0)
	if err != nil {
		return 0, err
	}
	if c.here {
		r.fronts[port] = c.newFront(r, port, socket)
	} else if err := socket.Close(); err != nil {
		return 0, fmt.Errorf("trying port %d: %w", port, err)
	}
	if at := int32(socket.Addr().(*net.TCPAddr).Port); at != port {
		return at, nil
	}
	return 0, nil
}

// serve has a load balancer's ports answer by its new state, and closes the ports that it no longer
// has.
func (c *Cloud) serve(r *record) {
	for port, f := range r.fronts {
		if r.observed.Listener(port) == nil {
			f.Retire()
			delete(r.fronts, port)
			continue
		}
		f.Update()
	}
}

// settle makes the services of all ports, before a change that can close ports: requests that are
// under way then still need the last one.
func (r *record) settle() {
	for port, f := range r.fronts {
		if r.observed.Listener(port) != nil {
			f.Service()
		}
	}
}

// openPorts opens the ports of a load balancer that are not open, at the sockets that they had.
func (c *Cloud) openPorts(r *record) error {
	for _, l := range r.observed.Listeners {
		if r.fronts[l.Port] != nil {
			continue
		}
		socket, err := c.bind(r, l.Port, cmp.Or(r.observed.Address.Ports[l.Port], l.Port))
		if err != nil {
			return err
		}
		r.fronts[l.Port] = c.newFront(r, l.Port, socket)
		r.fronts[l.Port].Update()
	}
	return nil
}

func (c *Cloud) newFront(r *record, port int32, socket net.Listener) *front {
	latest := func() *service { return c.newService(r, port) }
	return newFront(socket, c.options.Drain, latest)
}

// newService returns how a port answers in the present state. It copies everything that steps
// change, because they change it in place.
func (c *Cloud) newService(r *record, port int32) *service {
	r.state.RLock()
	defer r.state.RUnlock()
	l := *r.observed.Listener(port)
	l.Rules, l.Certificates = slices.Clone(l.Rules), slices.Clone(l.Certificates)
	pools := maps.Clone(r.pools)
	maps.Copy(pools, c.others)
	return &service{
		Listener: l,
		Matcher: sync.OnceValue(func() *lb.Matcher {
			return lb.NewMatcher(l.Plain(), c.options.Capabilities.Dialect)
		}),
		Pools: pools,
		Pairs: maps.Clone(r.pairs),
		Own:   &c.certificates,
		Sent:  headersOf(r.settings.Listeners[port].Attributes),
	}
}
