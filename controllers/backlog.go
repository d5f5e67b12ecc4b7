package controllers

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file measures how long changes of objects take until the cloud has them.

// A backlog is the changes that were heard of and that the cloud does not have yet. Of several changes of one thing the
// first one counts.
type backlog[K comparable] struct {
	mu    sync.Mutex
	heard map[K]time.Time // those that no reconcile has begun with
	open  map[K]*unmet    // those that one has
}

// An unmet change is one that the cloud does not have yet.
type unmet struct {
	since  time.Time
	worked bool // something was changed in the cloud for it
}

// hear notes that an object changed.
func (b *backlog[K]) hear(k K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.heard == nil {
		b.heard = map[K]time.Time{}
	}
	if b.heard[k].IsZero() {
		b.heard[k] = time.Now()
	}
}

// begin notes that a reconcile begins: it reads what was heard of.
func (b *backlog[K]) begin(k K) {
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

// worked notes that something is changed in the cloud.
func (b *backlog[K]) worked(k K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if u := b.open[k]; u != nil {
		u.worked = true
	}
}

// met notes that the cloud has what a reconcile began with. It returns how long that took, or false where nothing had to
// be changed.
func (b *backlog[K]) met(k K) (took time.Duration, worked bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.open[k]
	delete(b.open, k)
	if u == nil || !u.worked {
		return 0, false
	}
	return time.Since(u.since), true
}

// oldest is how old the oldest change is that the cloud does not have; zero if it has all.
func (b *backlog[K]) oldest() time.Duration {
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

// hearing is what an object leads to, noted as changed.
func hearing[T client.Object, K comparable](b *backlog[K], leadsTo func(context.Context, T) []K) func(context.Context, T) []K {
	return func(ctx context.Context, o T) []K {
		keys := leadsTo(ctx, o)
		for _, k := range keys {
			b.hear(k)
		}
		return keys
	}
}
