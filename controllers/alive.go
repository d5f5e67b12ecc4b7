package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// This file ends reconciles that take too long, and tells the liveness probe of those that do not end.

// stuckAfter is how much longer than its time a reconcile may take: a step that is under way is finished, and what
// came of it is written.
const stuckAfter = 3 * time.Minute

// errLong is why a reconcile was ended. It goes on at once where it was: a plan of thousands of steps takes several.
var errLong = errors.New("the reconcile took its time, and goes on in the next one")

// A pulse is the reconciles that are under way.
type pulse struct {
	limit time.Duration // for each of them

	mu    sync.Mutex
	since map[*string]time.Time // by what they are about
}

func newPulse(limit time.Duration) *pulse { return &pulse{limit: limit} }

// begin notes that a reconcile begins. What it returns notes that it has ended.
func (p *pulse) begin(about string) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since == nil {
		p.since = map[*string]time.Time{}
	}
	p.since[&about] = time.Now()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.since, &about)
	}
}

// Alive is a liveness check: it fails where a reconcile does not end.
func (p *pulse) alive(*http.Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for about, begun := range p.since {
		if took := time.Since(begun); took > p.limit+stuckAfter {
			return fmt.Errorf("reconciling %s has not ended for %s", *about, took.Round(time.Second))
		}
	}
	return nil
}

// A bounded reconciler works on so much at a time, and on each thing for so long.
type bounded[K comparable] struct {
	reconcile.TypedReconciler[K]
	slots *slots
	pulse *pulse
	name  string
	// queued is told when a thing begins to wait for others. What it returns is told when its turn comes. It may be nil.
	queued func(ctx context.Context, key K) (over func())
}

func newBounded[K comparable](r reconcile.TypedReconciler[K], s *slots, p *pulse, name string, queued func(context.Context, K) func()) bounded[K] {
	return bounded[K]{r, s, p, name, queued}
}

// Reconcile is for the controller.
func (b bounded[K]) Reconcile(ctx context.Context, key K) (reconcile.Result, error) {
	if err := b.slots.acquire(ctx, func() func() { return b.waits(ctx, key) }); err != nil {
		return reconcile.Result{}, err
	}
	defer b.slots.release()
	defer b.pulse.begin(fmt.Sprintf("%s %v", b.name, key))()
	ctx, cancel := context.WithTimeoutCause(ctx, b.pulse.limit, errLong)
	defer cancel()
	return b.TypedReconciler.Reconcile(withWork(ctx, b.slots), key)
}

func (b bounded[K]) waits(ctx context.Context, key K) (over func()) {
	if b.queued == nil {
		return func() {}
	}
	return b.queued(ctx, key)
}
