package fake

import (
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
// It answers once it is shown what to serve. Without a data plane every port is free.
func (c *Cloud) open(r *record, port, instead int32) (int32, error) {
	if !c.options.Serve {
		return 0, nil
	}
	if len(r.observed.Address.IPs) == 0 {
		return 0, fmt.Errorf("opening port %d: load balancer %s has no address", port, r.observed.Key)
	}
	socket, err := c.bind(r.observed.Address.IPs[0], port, instead)
	if err != nil {
		return 0, err
	}
	f := c.newFront(socket)
	r.fronts[port] = f
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

// reopen opens the ports of all that the state file brought.
func (c *Cloud) reopen() error {
	if !c.options.Serve {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(c.records)) {
		if err := c.openAgain(c.records[key]); err != nil {
			return err
		}
	}
	return nil
}

// openAgain opens the ports of a load balancer, where it may those that it had.
func (c *Cloud) openAgain(r *record) error {
	var ports map[int32]int32
	for _, l := range r.observed.Listeners {
		at, err := c.open(r, l.Port, r.observed.Address.Ports[l.Port])
		if err != nil {
			return err
		}
		if at != 0 {
			if ports == nil {
				ports = map[int32]int32{}
			}
			ports[l.Port] = at
		}
	}
	r.observed.Address.Ports = ports
	c.serve(r)
	return nil
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
