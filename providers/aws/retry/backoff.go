package retry

import (
	"maps"
	"sync"
	"time"
)

// A Backoff holds until when a call about each of several things is of no use. The zero value is ready.
type Backoff struct {
	mu    sync.Mutex
	until map[string]wait
}

// A wait ends; the next one is longer.
type wait struct {
	end  time.Time
	next time.Duration
}

// waitLife is how long after its end a wait is known: what was not asked about for so long may be gone.
const waitLife = time.Hour

// Early reports whether it is too early to ask about something.
func (r *Backoff) Early(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.until[id].end)
}

// Wait keeps askers away for a while.
func (r *Backoff) Wait(id string, first, longest time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[string]wait{}
	}
	maps.DeleteFunc(r.until, func(_ string, w wait) bool { return time.Since(w.end) >= waitLife })
	this := max(first, r.until[id].next)
	r.until[id] = wait{time.Now().Add(this), min(longest, this*3/2)}
}

// Forget lets askers in at once.
func (r *Backoff) Forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.until, id)
}

// Len returns how many things are held.
func (r *Backoff) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.until)
}
