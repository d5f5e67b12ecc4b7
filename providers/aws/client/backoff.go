package client

import (
	"maps"
	"sync"
	"time"
)

// A Backoff holds, by ID, the time before which a call would be of no use. The zero value is ready
// for use.
type Backoff struct {
	mu    sync.Mutex
	until map[string]wait
}

// A wait holds the time of the next call, and the duration of the wait after that.
type wait struct {
	end  time.Time
	next time.Duration
}

// waitLife is the time for which a wait is held after its end: the resource may have been deleted
// since.
const waitLife = time.Hour

// TooEarly reports whether it is too early for a call.
func (b *Backoff) TooEarly(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().Before(b.until[id].end)
}

// Wait begins a wait. The first one takes first, each further one half as long again, up to
// longest.
func (b *Backoff) Wait(id string, first, longest time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until == nil {
		b.until = map[string]wait{}
	}
	maps.DeleteFunc(b.until, func(_ string, w wait) bool { return time.Since(w.end) >= waitLife })
	this := max(first, b.until[id].next)
	b.until[id] = wait{time.Now().Add(this), min(longest, this*3/2)}
}

// Forget ends the wait. The next one takes first again.
func (b *Backoff) Forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.until, id)
}

// Len returns the number of IDs.
func (b *Backoff) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.until)
}
