package queue

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file measures how long changes of objects take until the cloud has them.

// Backlog holds the changes that a watch has delivered and that the cloud does not have yet. Of
// several changes of one key the first one counts.
type Backlog[K comparable] struct {
	mu    sync.Mutex
	heard map[K]time.Time // those with which no reconcile has begun
	open  map[K]*unmet    // those with which a reconcile has begun
}

// An unmet change is one that the cloud does not have yet.
type unmet struct {
	since  time.Time
	worked bool // something was changed in the cloud for it
}

// Heard records that an object of a key changed.
func (b *Backlog[K]) Heard(k K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.heard == nil {
		b.heard = map[K]time.Time{}
	}
	if b.heard[k].IsZero() {
		b.heard[k] = time.Now()
	}
}

// Begin records that a reconcile begins: it reads the changes that were delivered before.
func (b *Backlog[K]) Begin(k K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	heard, news := b.heard[k]
	if !news {
		return
	}
	delete(b.heard, k)
	if b.open == nil {
		b.open = map[K]*unmet{}
	}
	if b.open[k] == nil {
		b.open[k] = &unmet{since: heard}
	}
}

// Worked records that a reconcile changes the cloud.
func (b *Backlog[K]) Worked(k K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if u := b.open[k]; u != nil {
		u.worked = true
	}
}

// Met records that the cloud has the changes with which a reconcile began. It returns how long that
// took, or false where nothing had to be changed.
func (b *Backlog[K]) Met(k K) (took time.Duration, worked bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.open[k]
	delete(b.open, k)
	if u == nil || !u.worked {
		return 0, false
	}
	return time.Since(u.since), true
}

// Oldest returns the age of the oldest change that the cloud does not have; zero if it has all.
func (b *Backlog[K]) Oldest() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out time.Duration
	for _, since := range b.heard {
		out = max(out, time.Since(since))
	}
	for _, u := range b.open {
		out = max(out, time.Since(u.since))
	}
	return out
}

// Recording returns a function that records the keys of an object as changed, and returns them.
func Recording[T client.Object, K comparable](b *Backlog[K],
	leadsTo func(context.Context, T) []K) func(context.Context, T) []K {
	return func(ctx context.Context, o T) []K {
		keys := leadsTo(ctx, o)
		for _, k := range keys {
			b.Heard(k)
		}
		return keys
	}
}
