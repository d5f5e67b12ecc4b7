package fake

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

// This file counts the requests to a target, and lets them end when the target leaves its group.

// A member is a target of a group.
type member struct {
	lb.Target
	newTransport func() *http.Transport
	health       atomic.Value // a string, one of the states
	warmAt       time.Time    // when it is checked for the first time
	unwatch      context.CancelFunc

	mu        sync.Mutex
	transport *http.Transport              // of this member alone; nil before the first request
	busy      map[*context.CancelFunc]bool // ends each request under way
	left      bool
	late      *time.Timer // calls cut; nil unless it has left
}

// isWarm reports whether the warm-up of a member is over.
func (m *member) isWarm() bool { return !time.Now().Before(m.warmAt) }

func (m *member) state() lb.HealthState { return m.health.Load().(lb.HealthState) }

// connections returns the transport of the member. The first request makes it: a group may have
// many members that get none.
func (m *member) connections() *http.Transport {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.transport == nil {
		m.transport = m.newTransport()
		m.transport.DisableKeepAlives = m.left // leave has closed the idle connections already
	}
	return m.transport
}

// enter begins a request, unless the member has left.
func (m *member) enter(cancel *context.CancelFunc) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.left {
		m.busy[cancel] = true
	}
	return !m.left
}

// exit ends a request.
func (m *member) exit(cancel *context.CancelFunc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, cancel)
	if m.left && len(m.busy) == 0 {
		m.late.Stop()
	}
}

// leave refuses further requests, and ends those that are still under way after a while.
func (m *member) leave(within time.Duration) {
	m.unwatch()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = true
	m.late = time.AfterFunc(within, m.cancelAll)
	if m.transport != nil {
		m.transport.CloseIdleConnections() // also those that become idle later
	}
}

// cancelAll ends all requests.
func (m *member) cancelAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for cancel := range m.busy {
		(*cancel)()
	}
}

// isDone reports whether a member has left and has no request.
func (m *member) isDone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left && len(m.busy) == 0
}
