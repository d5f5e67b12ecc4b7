package main

import (
	"context"
	"net"
	"sync"
)

// This file is a network for Caddy, fairlead/HOST:PORT. With a new configuration Caddy opens each
// port again and closes the old one, and connections that nothing has accepted are lost with that.
// Here a port is opened once: each configuration has a door to it, and connections go to the newest
// one.

// A port is open as long as it has doors.
type port struct {
	net.Listener
	doors []*door // the newest last
}

// A door is a port as one configuration has it.
type door struct {
	*port
	address string
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// ports are those that are open, by address; the mutex guards their doors, too.
var (
	portsMu sync.Mutex
	ports   = map[string]*port{}
)

func openDoor(ctx context.Context, _, host, number string, _ uint, config net.ListenConfig) (any, error) {
	config.Control = nil // a port is opened once
	address := net.JoinHostPort(host, number)
	portsMu.Lock()
	defer portsMu.Unlock()
	p := ports[address]
	if p == nil {
		socket, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		p = &port{Listener: socket}
		ports[address] = p
		go p.receive()
	}
	d := &door{port: p, address: address, conns: make(chan net.Conn), closed: make(chan struct{})}
	p.doors = append(p.doors, d)
	return d, nil
}

// receive leads connections to the newest door, until the port is closed.
func (p *port) receive() {
	for {
		conn, err := p.Listener.Accept()
		if err != nil {
			return
		}
		for led := false; !led; {
			d := p.newest()
			if d == nil {
				conn.Close()
				break
			}
			select {
			case d.conns <- conn:
				led = true
			case <-d.closed:
			}
		}
	}
}

func (p *port) newest() *door {
	portsMu.Lock()
	defer portsMu.Unlock()
	if len(p.doors) == 0 {
		return nil
	}
	return p.doors[len(p.doors)-1]
}

// Accept is net.Listener's.
func (d *door) Accept() (net.Conn, error) {
	select {
	case conn := <-d.conns:
		return conn, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close closes a door, and with the last one the port.
func (d *door) Close() (err error) {
	d.once.Do(func() {
		portsMu.Lock()
		defer portsMu.Unlock()
		close(d.closed)
		var rest []*door
		for _, other := range d.doors {
			if other != d {
				rest = append(rest, other)
			}
		}
		if d.doors = rest; len(rest) == 0 {
			delete(ports, d.address)
			err = d.Listener.Close()
		}
	})
	return err
}
