package client

import (
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// A Cached holds the value that was read last. Simultaneous readers share one call.
type Cached[T any] struct {
	calls singleflight.Group

	mu    sync.Mutex
	value T
	at    time.Time // when the read began
}

// Last returns the value that was read last; the zero value before the first read.
func (v *Cached[T]) Last() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.value
}

// ReadSince returns a value that was read at a time, or later. It calls read if there is none.
func (v *Cached[T]) ReadSince(when time.Time, read func() (T, error)) (T, error) {
	if value, fresh := v.known(when); fresh {
		return value, nil
	}
	found, err, _ := v.calls.Do("", func() (any, error) {
		if value, fresh := v.known(when); fresh { // another caller has read it
			return value, nil
		}
		now := time.Now()
		found, err := read()
		if err == nil {
			v.mu.Lock()
			v.value, v.at = found, now
			v.mu.Unlock()
		}
		return found, err
	})
	value, _ := found.(T)
	return value, err
}

// known returns the value that was read last, and whether it was read at a time, or later.
func (v *Cached[T]) known(when time.Time) (value T, fresh bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.value, !v.at.Before(when)
}
