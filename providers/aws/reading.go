package aws

import (
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// This file keeps what is read once for all load balancers, and is used for a while.

// A reading keeps the value that was read last. Simultaneous readers share one call.
type reading[T any] struct {
	calls singleflight.Group

	mu    sync.Mutex
	value T
	at    time.Time // when it was asked for
}

// last returns the value that was read last; the zero value before the first reading.
func (r *reading[T]) last() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value
}

// since returns the value of a time, or of a later time.
func (r *reading[T]) since(when time.Time, read func() (T, error)) (T, error) {
	if value, fresh := r.known(when); fresh {
		return value, nil
	}
	found, err, _ := r.calls.Do("", func() (any, error) {
		if value, fresh := r.known(when); fresh { // another caller has read it meanwhile
			return value, nil
		}
		now := time.Now()
		found, err := read()
		if err == nil {
			r.mu.Lock()
			r.value, r.at = found, now
			r.mu.Unlock()
		}
		return found, err
	})
	value, _ := found.(T)
	return value, err
}

// known returns the value that was read last, and whether that was at a time, or later.
func (r *reading[T]) known(when time.Time) (value T, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value, !r.at.Before(when)
}

// atOnce is how many reads are under way at the same time.
const atOnce = 8
