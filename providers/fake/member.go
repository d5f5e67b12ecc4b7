package fake

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

// This file is a target at work: requests enter and leave it, and when it leaves its group those
// that it has may finish.

// A member is a target of a pool.
type member struct {
	lb.Target
	transport *http.Transport // connections are a member's own, and end with it
	health    atomic.Value    // one of the states
	warmAt    time.Time       // when it can be checked for the first time
	unwatch   context.CancelFunc

	mu   sync.Mutex
	busy map[*errand]bool // requests under way
	left bool
	late *time.Timer // cuts off what has not ended by itself; nil unless it has left
}

// join makes a target a member and starts its checks.
func (p *pool) join(t lb.Target) *member {
	m := &member{Target: t, transport: p.newTransport(), unwatch: func() {}, busy: map[*errand]bool{}, warmAt: time.Now().Add(p.warmUp)}
	m.health.Store(stateHealthy)
	if p.checked {
		m.health.Store(stateInitial)
	}
	if p.here {
		p.check(m)
	}
	return m
}

// check checks a member for as long as it belongs to the pool.
func (p *pool) check(m *member) {
	watched, unwatch := context.WithCancel(context.Background())
	m.unwatch = unwatch
	go p.watch(watched, m)
}

// warm reports whether the cloud has got to know a member.
func (m *member) warm() bool { return !time.Now().Before(m.warmAt) }

func (m *member) state() string { return m.health.Load().(string) }

// enter begins a request, unless the member has left.
func (m *member) enter(e *errand) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.left {
		m.busy[e] = true
	}
	return !m.left
}

// exit ends a request.
func (m *member) exit(e *errand) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, e)
	if m.left && len(m.busy) == 0 {
		m.late.Stop()
	}
}

// leave takes no more requests, and cuts those off that do not end by themselves in time.
func (m *member) leave(within time.Duration) {
	m.unwatch()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = true
	m.late = time.AfterFunc(within, m.cut)
	m.transport.CloseIdleConnections() // and those that become idle
}

// cut ends all requests.
func (m *member) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for e := range m.busy {
		e.cancel()
	}
}

// gone reports whether a member has left and has nothing more to do.
func (m *member) gone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left && len(m.busy) == 0
}
