package fake

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/fairlead/model/routing"
)

// This file has the ports: their sockets, connections and TLS.

// A front answers on one port of one load balancer. Its Service is made when the first request
// after a step needs it: most steps of a plan are followed by the next one before a request comes.
// If the port changes between HTTP and HTTPS, a connection keeps the protocol that it began with.
type front struct {
	net.Listener
	server *http.Server
	tls    *tls.Config
	drain  time.Duration
	cut    context.CancelFunc // ends all requests
	start  sync.Once
	latest func() *service // makes the Service of the present state

	making sync.Mutex
	now    atomic.Pointer[service] // nil after a step; making guards changes
}

// newFront returns a front for a socket, with the function that makes its present Service. Requests
// under way may take drain after the front has closed.
func newFront(socket net.Listener, drain time.Duration, latest func() *service) *front {
	requests, cut := context.WithCancel(context.Background())
	f := &front{Listener: socket, drain: drain, cut: cut, latest: latest}
	f.server = &http.Server{
		Handler:           f,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          discardLog,
	}
	f.tls = &tls.Config{
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return f.Service().certificate(hello.ServerName)
		},
		SessionTicketsDisabled: true, // a resumed session would not use a new certificate
	}
	return f
}

// Service returns the present Service.
func (f *front) Service() *service {
	if s := f.now.Load(); s != nil {
		return s
	}
	f.making.Lock()
	defer f.making.Unlock()
	if f.now.Load() == nil {
		f.now.Store(f.latest())
	}
	return f.now.Load()
}

// Update drops the Service after a step has changed it. The first call opens the port.
func (f *front) Update() {
	f.making.Lock()
	defer f.making.Unlock()
	f.now.Store(nil)
	f.start.Do(func() {
		go func() { _ = f.server.Serve(f) }() // until the port is closed
	})
}

// Retire closes the port at once. Requests under way, and connections that were upgraded, may end
// within the drain time.
func (f *front) Retire() {
	f.Listener.Close()
	// Closes idle connections now, others after their request.
	go func() { _ = f.server.Shutdown(context.Background()) }()
	time.AfterFunc(f.drain, f.Stop)
}

// Stop closes the port and its connections.
func (f *front) Stop() {
	f.Listener.Close()
	f.cut()
	f.server.Close()
}

// Accept implements net.Listener. It adds TLS if the listener has it.
func (f *front) Accept() (net.Conn, error) {
	conn, err := f.Listener.Accept()
	if err != nil || f.Service().Listener.Protocol != routing.HTTPS {
		return conn, err
	}
	return tls.Server(conn, f.tls), nil
}

// ServeHTTP answers by the rules of the listener.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Service().ServeHTTP(w, r)
}
