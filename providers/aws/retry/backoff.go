package retry

import (
	"maps"
	"sync"
	"time"
)

// A Backoff holds until when a call about each of several things is of no use. The zero value
// is ready.
type Backoff struct {
	mu    sync.Mutex
	until map[string]wait
}

// A wait is when a thing may be asked about again, and how long the wait after that is.
type wait struct {
	end  time.Time
	next time.Duration
}

// waitLife is how long a wait is held after its end: a thing not asked about for so long may be
// gone.
const waitLife = time.Hour

// Early reports whether it is too early to ask about something.
func (b *Backoff) Early(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().Before(b.until[id].end)
}

// Wait makes it too early to ask about something for a while: first, then half as long again
// each time, up to longest.
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

// Forget ends the wait of something; the next one is the first again.
func (b *Backoff) Forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.until, id)
}

// Len returns how many things are held.
func (b *Backoff) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.until)
}
