package chaos

import (
	"net"
	"sync"
	"testing"
	"time"
)

// This file is a connection between a replica and what it talks to, which can be cut.

// A state of a link.
type state int

const (
	passing state = iota
	away          // connections are closed at once
	silent        // connections are accepted and never answered, and what is sent on those that exist is lost
)

// A link passes on bytes to an address.
type link struct {
	url, to string

	mu    sync.Mutex
	state state
	open  map[net.Conn]bool
	used  time.Time // when something was last sent
}

// newLink listens on a port of loopback until the test ends.
func newLink(t *testing.T, to string) *link {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{url: at.Addr().String(), to: to, open: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = at.Close()
		l.set(away)
	})
	go func() {
		for {
			c, err := at.Accept()
			if err != nil {
				return
			}
			go l.serve(c)
		}
	}()
	return l
}

// set changes what becomes of connections. Those of before are closed, unless the link falls
// silent.
func (l *link) set(to state) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state = to; to == silent {
		return
	}
	for c := range l.open {
		_ = c.Close()
		delete(l.open, c)
	}
}

// is returns the state, and keeps the connection.
func (l *link) is(c net.Conn) state {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != away {
		l.open[c] = true
	}
	return l.state
}

// serve passes on what one connection says, and what is answered.
func (l *link) serve(c net.Conn) {
	defer c.Close()
	switch l.is(c) {
	case away:
		return
	case silent:
		l.copy(nil, c)
		return
	case passing:
	}
	onward, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer onward.Close()
	if l.is(onward) == away {
		return
	}
	go func() {
		l.copy(c, onward)
		_ = c.Close()
	}()
	l.copy(onward, c)
}

// copy passes on what is read until the connection ends. It loses all of it while the link is
// silent, and without a connection to pass it on to.
func (l *link) copy(to, from net.Conn) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, from)
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if to == nil || l.loses() {
			to = nil // a connection that lost bytes is of no use
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// loses reports whether what is sent now is lost.
func (l *link) loses() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = time.Now()
	return l.state == silent
}

// lastUsed is when something was last sent.
func (l *link) lastUsed() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}
