package queue

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// This file limits how many keys are worked on at a time, and measures the calls of the cloud. A
// key that waits for a slow call does not count: if a cloud does not answer for some load
// balancers, the others are still reconciled.

const (
	// a call that takes longer frees the slot of the work that waits for it
	slowCall    = 5 * time.Second
	tellOfCall  = 30 * time.Second // a call that takes longer is logged
	mostWaiting = 16               // how many reconciles may wait for slow calls, in each loop
)

// slots limits how many keys are worked on at a time.
type slots struct {
	limit int

	mu      sync.Mutex
	busy    int             // slots that are taken
	waiting int             // taken slots whose work waits for slow calls
	queue   []chan struct{} // of keys that wait for a slot
}

// acquire takes a slot. If it has to wait for one, it calls waits before, and the function that
// waits returned after the wait.
func (s *slots) acquire(ctx context.Context, waits func() (over func())) error {
	s.mu.Lock()
	turn := make(chan struct{})
	s.queue = append(s.queue, turn)
	s.grant()
	s.mu.Unlock()
	select {
	case <-turn:
		return nil
	default:
	}
	defer waits()()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, other := range s.queue {
			if other == turn {
				s.queue = append(s.queue[:i], s.queue[i+1:]...)
				return context.Cause(ctx)
			}
		}
		return nil // it got the slot at the same moment
	}
}

func (s *slots) release() { s.change(-1, 0) }

func (s *slots) change(busy, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy += busy
	s.waiting += waiting
	s.grant()
}

// grant grants free slots in the order of the requests. The caller holds the lock.
func (s *slots) grant() {
	for len(s.queue) > 0 && s.busy-min(s.waiting, mostWaiting) < s.limit {
		s.busy++
		close(s.queue[0])
		s.queue = s.queue[1:]
	}
}

// A work is one reconcile that has a slot.
type work struct {
	slots *slots

	mu   sync.Mutex
	slow int // calls under way that take long, or wait for their turn
}

type workKey struct{}

// withWork returns a context whose calls count as those of one reconcile.
func withWork(ctx context.Context, s *slots) context.Context {
	return context.WithValue(ctx, workKey{}, &work{slots: s})
}

// AddSlow changes the number of slow calls.
func (w *work) AddSlow(by int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.slow
	w.slow += by
	switch {
	case before == 0:
		w.slots.change(0, 1)
	case w.slow == 0:
		w.slots.change(0, -1)
	}
}

// Calls holds the calls of the cloud that are under way.
type Calls struct {
	mu    sync.Mutex
	since map[*call]time.Time
}

// A call is a call of the cloud.
type call struct {
	mu          sync.Mutex
	ended, slow bool
}

// Begin adds a call. The function that it returns removes it.
func (c *Calls) Begin(ctx context.Context, name string, about ...any) func() {
	w, _ := ctx.Value(workKey{}).(*work)
	one, begun := &call{}, time.Now()
	c.mu.Lock()
	if c.since == nil {
		c.since = map[*call]time.Time{}
	}
	c.since[one] = begun
	c.mu.Unlock()
	slow := time.AfterFunc(slowCall, func() {
		one.mu.Lock()
		defer one.mu.Unlock()
		if !one.ended {
			one.slow = true
			w.AddSlow(1)
		}
	})
	report := time.AfterFunc(tellOfCall, func() {
		log.FromContext(ctx).Info("waits for an answer of the cloud, or for its turn to ask",
			append([]any{"call", name, "for", tellOfCall.String()}, about...)...)
	})
	return func() {
		slow.Stop()
		report.Stop()
		c.mu.Lock()
		delete(c.since, one)
		c.mu.Unlock()
		one.mu.Lock()
		defer one.mu.Unlock()
		one.ended = true
		if one.slow {
			w.AddSlow(-1)
		}
	}
}

// Oldest returns how long the oldest call has been under way; zero if there is none.
func (c *Calls) Oldest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out time.Duration
	for _, begun := range c.since {
		out = max(out, time.Since(begun))
	}
	return out
}
