// Package retry spaces out calls that AWS refuses for a while.
package retry

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// This file holds back calls that AWS may refuse for a moment: a new listener is not found yet,
// a resource that is no longer used still counts as in use. Several callers may want to make
// such a call; one answer counts for all.

// A Gate is shut until a call has succeeded. While it is shut, one call is tried at a time, and
// after each refusal none is made for a while.
type Gate struct {
	trying chan struct{} // full while a call is tried

	mu    sync.Mutex
	open  bool
	until time.Time     // when the next call may be tried
	next  time.Duration // the wait after the next refusal
	most  time.Duration // the longest wait
}

// NewGate returns a shut gate: the wait before the first call, the one after the first refusal,
// and the longest.
func NewGate(first, next, most time.Duration) *Gate {
	return &Gate{
		trying: make(chan struct{}, 1),
		until:  time.Now().Add(min(first, most)), next: min(next, most), most: most,
	}
}

// ErrShut is returned for a call that comes too early and is not made.
var ErrShut = errors.New("it is too early")

// Through makes a call and returns its error, or ErrShut without having made it.
func (g *Gate) Through(ctx context.Context, refused func(error) bool, call func() error) error {
	if open, _ := g.look(); !open {
		select {
		case g.trying <- struct{}{}:
			defer func() { <-g.trying }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if open, until := g.look(); !open && time.Now().Before(until) {
			return ErrShut
		}
	}
	err := call()
	g.heard(refused(err))
	return err
}

// look returns whether the gate is open, and if not, when the next call may be tried.
func (g *Gate) look() (open bool, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open, g.until
}

// heard opens the gate, or shuts it and lengthens the wait if the call was refused.
func (g *Gate) heard(refused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open = !refused; refused {
		g.until = time.Now().Add(g.next)
		g.next = min(g.most, g.next*3/2)
	}
}

// Gates holds a Gate for each of several things, by ID. The zero value is ready.
type Gates struct {
	mu     sync.Mutex
	known  map[string]*Gate
	shrunk time.Time // when old gates were last deleted
}

// Gates without a wait for a day are deleted, once an hour: the resource may be gone.
const (
	gateLife    = 24 * time.Hour
	gatesShrink = time.Hour
)

// At returns the gate of a thing; if there is none, the one that otherwise makes.
func (s *Gates) At(id string, otherwise func() *Gate) *Gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[id] == nil {
		s.put(id, otherwise())
	}
	return s.known[id]
}

// Set puts a gate in the place of the one that the thing had.
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
			_, until := g.look()
			return now.Sub(until) >= gateLife
		})
	}
	s.known[id] = g
}

// Remove deletes the gate of a thing that is gone.
func (s *Gates) Remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
}
