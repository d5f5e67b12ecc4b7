package fake

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A front answers on one port of one load balancer. What it serves is replaced as a whole after
// each step. A port can change between HTTP and HTTPS: each connection speaks what the listener
// spoke when it was accepted.
type front struct {
	net.Listener
	server *http.Server
	tls    *tls.Config
	drain  time.Duration
	cut    context.CancelFunc // ends all requests
	start  sync.Once
	now    atomic.Pointer[service]
}

// open opens a port of a load balancer, and says which port that really is where it is another.
// It answers once it is shown what to serve. Without a data plane every port is free; where another
// process has it, the port is only tried, and left to that process.
func (c *Cloud) open(r *record, port int32) (int32, error) {
	if !c.options.Serve {
		return 0, nil
	}
	socket, err := c.bind(r, port, port, 0)
	if err != nil {
		return 0, err
	}
	if c.here {
		r.fronts[port] = c.newFront(socket)
	} else if err := socket.Close(); err != nil {
		return 0, fmt.Errorf("trying port %d: %w", port, err)
	}
	if at := int32(socket.Addr().(*net.TCPAddr).Port); at != port {
		return at, nil
	}
	return 0, nil
}

func (c *Cloud) newFront(socket net.Listener) *front {
	requests, cut := context.WithCancel(context.Background())
	f := &front{Listener: socket, drain: c.options.Drain, cut: cut}
	f.server = &http.Server{
		Handler:           f,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          quiet,
	}
	f.tls = &tls.Config{
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return f.now.Load().certificate(hello.ServerName)
		},
		SessionTicketsDisabled: true, // a session that is resumed would not see a new certificate
	}
	return f
}

// serve has the ports of a load balancer answer as it stands, and closes those that it no longer
// has.
func (c *Cloud) serve(r *record) {
	for port, f := range r.fronts {
		l := r.observed.Listener(port)
		if l == nil {
			f.retire()
			delete(r.fronts, port)
			continue
		}
		f.show(c.newService(r, l))
	}
}

// openPorts opens the ports of a load balancer that are not open, each where it was.
func (c *Cloud) openPorts(r *record) error {
	for _, l := range r.observed.Listeners {
		if r.fronts[l.Port] != nil {
			continue
		}
		socket, err := c.bind(r, l.Port, cmp.Or(r.observed.Address.Ports[l.Port], l.Port))
		if err != nil {
			return err
		}
		r.fronts[l.Port] = c.newFront(socket)
		r.fronts[l.Port].show(c.newService(r, &l))
	}
	return nil
}

// reopen opens the ports of all that the state file brought, where that may be those that they had.
func (c *Cloud) reopen() error {
	if !c.here {
		return nil
	}
	moved := false
	for _, key := range slices.Sorted(maps.Keys(c.records)) {
		r := c.records[key]
		next, ports := r.observed.Clone(), map[int32]int32{}
		for _, l := range next.Listeners {
			socket, err := c.bind(r, l.Port, cmp.Or(next.Address.Ports[l.Port], l.Port), l.Port, 0)
			if err != nil {
				return err
			}
			r.fronts[l.Port] = c.newFront(socket)
			if at := int32(socket.Addr().(*net.TCPAddr).Port); at != l.Port {
				ports[l.Port] = at
			}
		}
		if !maps.Equal(ports, next.Address.Ports) {
			next.Address.Ports, moved = ports, true
			c.replace(r, next)
		}
		c.serve(r)
	}
	if !moved {
		return nil
	}
	return c.files.commit(c.writeState)
}

// show replaces what is served.
func (f *front) show(s *service) {
	f.now.Store(s)
	f.start.Do(func() {
		go func() { _ = f.server.Serve(f) }() // until the port is closed
	})
}

// retire closes the port at once. Requests under way, among them connections that have become
// something else, have their time to end.
func (f *front) retire() {
	f.Listener.Close()
	go func() { _ = f.server.Shutdown(context.Background()) }() // idle connections now, others after their request
	time.AfterFunc(f.drain, f.stop)
}

// stop closes the port and its connections.
func (f *front) stop() {
	f.Listener.Close()
	f.cut()
	f.server.Close()
}

// Accept is net.Listener's, in front of which TLS is where the listener asks for it.
func (f *front) Accept() (net.Conn, error) {
	conn, err := f.Listener.Accept()
	if err != nil || f.now.Load().listener.Protocol != "HTTPS" {
		return conn, err
	}
	return tls.Server(conn, f.tls), nil
}

// ServeHTTP answers as the listener's rules say.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.now.Load().ServeHTTP(w, r)
}
