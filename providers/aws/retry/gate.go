// Package retry spaces out calls that AWS refuses for a while.
package retry

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// This file is how calls are made that AWS may refuse for a moment: a new listener is not found yet, what was
// let go of counts as in use. Many want to make such a call at once, and what one is told holds for all.

// A Gate is shut, as far as is known, until it has let somebody through. Until then one knocks at a time, and
// after each refusal nobody does for a while.
type Gate struct {
	knocking chan struct{} // full while somebody does

	mu    sync.Mutex
	open  bool
	until time.Time     // when it is worth knocking again
	next  time.Duration // how long nobody is to knock after the next refusal
	most  time.Duration
}

// NewGate makes a gate at which nobody knocks at first, and for how long not after a refusal.
func NewGate(first, next, most time.Duration) *Gate {
	return &Gate{knocking: make(chan struct{}, 1), until: time.Now().Add(min(first, most)), next: min(next, most), most: most}
}

// ErrShut is told to those who come too early.
var ErrShut = errors.New("it is too early")

// Through makes a call, or returns ErrShut without having made it.
func (g *Gate) Through(ctx context.Context, refused func(error) bool, call func() error) error {
	if open, _ := g.look(); !open {
		select {
		case g.knocking <- struct{}{}:
			defer func() { <-g.knocking }()
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

func (g *Gate) look() (open bool, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open, g.until
}

// heard learns from an answer.
func (g *Gate) heard(refused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open = !refused; refused {
		g.until = time.Now().Add(g.next)
		g.next = min(g.most, g.next*3/2)
	}
}

// Gates are those that are known.
type Gates struct {
	mu     sync.Mutex
	known  map[string]*Gate
	shrunk time.Time // when those were last taken away that stand before nothing any more
}

// Gates at which nobody had to wait for a day are taken away, once an hour: what they stood before may be gone.
const (
	gateLife    = 24 * time.Hour
	gatesShrink = time.Hour
)

// At is the gate of something; where none is known, the one that is made.
func (s *Gates) At(id string, otherwise func() *Gate) *Gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[id] == nil {
		s.put(id, otherwise())
	}
	return s.known[id]
}

// Set sets up a gate, whatever was there.
func (s *Gates) Set(id string, g *Gate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(id, g)
}

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

// Remove takes a gate away, of which nobody will want to know any more.
func (s *Gates) Remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
}
