package queue

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file measures how long changes of objects take until the cloud has them.

// A Backlog holds the changes that a watch has delivered and that the cloud does not have yet. Of
// several changes of one key the first one counts.
type Backlog[K comparable] struct {
	mu    sync.Mutex
	heard map[K]time.Time     // changes before their reconcile
	open  map[K]*backlogEntry // changes in a reconcile, or after one that failed
}

// A backlogEntry is a change that the cloud does not have yet.
type backlogEntry struct {
	since  time.Time
	worked bool // the cloud was changed for it
}

// NoteChange records that an object of a key changed.
func (b *Backlog[K]) NoteChange(k K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.heard == nil {
		b.heard = map[K]time.Time{}
	}
	if b.heard[k].IsZero() {
		b.heard[k] = time.Now()
	}
}

// Begin records that a reconcile begins. It reads the changes that were delivered before.
func (b *Backlog[K]) Begin(k K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	heard, news := b.heard[k]
	if !news {
		return
	}
	delete(b.heard, k)
	if b.open == nil {
		b.open = map[K]*backlogEntry{}
	}
	if b.open[k] == nil {
		b.open[k] = &backlogEntry{since: heard}
	}
}

// NoteWork records that a reconcile changes the cloud.
func (b *Backlog[K]) NoteWork(k K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if u := b.open[k]; u != nil {
		u.worked = true
	}
}

// End records that the cloud has the changes of a reconcile. It returns their duration, or false if
// the cloud did not have to be changed.
func (b *Backlog[K]) End(k K) (took time.Duration, worked bool) {
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
			b.NoteChange(k)
		}
		return keys
	}
}
