package client

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// This file delays calls that AWS may refuse for a moment: a new listener is not found yet, an
// unused resource still counts as in use. Several callers may make such a call; one answer counts
// for all.

// A Gate is shut until a call has succeeded. While it is shut, it permits one call at a time, and
// none for a while after each refusal.
type Gate struct {
	trying chan struct{} // full while a call is tried

	mu    sync.Mutex
	open  bool
	until time.Time     // when the next call may be tried
	next  time.Duration // the wait after the next refusal
	most  time.Duration // the longest wait
}

// NewGate returns a shut gate. first is the wait before the first call, next the one after the
// first refusal, and most the longest.
func NewGate(first, next, most time.Duration) *Gate {
	return &Gate{
		trying: make(chan struct{}, 1),
		until:  time.Now().Add(min(first, most)), next: min(next, most), most: most,
	}
}

// ErrShut is the error of a call that is not made because it comes too early.
var ErrShut = errors.New("it is too early")

// Do makes a call and returns its error, or returns ErrShut without a call.
func (g *Gate) Do(ctx context.Context, refused func(error) bool, call func() error) error {
	if open, _ := g.state(); !open {
		select {
		case g.trying <- struct{}{}:
			defer func() { <-g.trying }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if open, until := g.state(); !open && time.Now().Before(until) {
			return ErrShut
		}
	}
	err := call()
	g.record(refused(err))
	return err
}

// state reports whether the gate is open, and the time of the next call if it is not.
func (g *Gate) state() (open bool, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open, g.until
}

// record opens the gate, or shuts it and lengthens the wait if the call was refused.
func (g *Gate) record(refused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open = !refused; refused {
		g.until = time.Now().Add(g.next)
		g.next = min(g.most, g.next*3/2)
	}
}

// Gates holds Gates by ID. The zero value is ready for use.
type Gates struct {
	mu     sync.Mutex
	known  map[string]*Gate
	shrunk time.Time // when old gates were last deleted
}

// Once an hour, gates without a wait for a day are deleted: the resource may have been deleted.
const (
	gateLife    = 24 * time.Hour
	gatesShrink = time.Hour
)

// Get returns the gate of an ID; if there is none, it stores and returns that of otherwise.
func (s *Gates) Get(id string, otherwise func() *Gate) *Gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[id] == nil {
		s.put(id, otherwise())
	}
	return s.known[id]
}

// Set replaces the gate of an ID.
func (s *Gates) Set(id string, g *Gate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(id, g)
}

// put stores a gate and deletes old ones. The caller holds the lock.
func (s *Gates) put(id string, g *Gate) {
	if s.known == nil {
		s.known = map[string]*Gate{}
	}
	if now := time.Now(); now.Sub(s.shrunk) >= gatesShrink {
		s.shrunk = now
		maps.DeleteFunc(s.known, func(_ string, g *Gate) bool {
			_, until := g.state()
			return now.Sub(until) >= gateLife
		})
	}
	s.known[id] = g
}

// Remove deletes the gate of an ID.
func (s *Gates) Remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
}
