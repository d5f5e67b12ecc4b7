package queue

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// This file ends reconciles that take too long. The liveness probe fails if one does not end.

// stuckAfter is how much longer than its limit a reconcile may take, to finish a step and write its
// result.
const stuckAfter = 3 * time.Minute

// errLong ends a reconcile that has reached its limit. The next one continues at once: a plan of
// thousands of steps takes several reconciles.
var errLong = errors.New("the reconcile has reached its time limit, and the next one continues")

// Liveness holds the reconciles that are under way.
type Liveness struct {
	limit time.Duration // for each of them

	mu    sync.Mutex
	since map[*string]time.Time // by a name
}

// NewLiveness returns a Liveness with a limit for each reconcile.
func NewLiveness(limit time.Duration) *Liveness { return &Liveness{limit: limit} }

// begin adds a reconcile. The function that it returns removes it.
func (p *Liveness) begin(about string) func() {
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

// Check returns a liveness check: it fails if a reconcile does not end.
func (p *Liveness) Check(*http.Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for about, begun := range p.since {
		if took := time.Since(begun); took > p.limit+stuckAfter {
			return fmt.Errorf("reconciling %s has not ended for %s", *about, took.Round(time.Second))
		}
	}
	return nil
}

// A bounded reconciler limits how many keys it works on at a time, and for how long on each.
type bounded[K comparable] struct {
	reconcile.TypedReconciler[K]
	slots    *slots
	liveness *Liveness
	name     string
	// queued is called when a key begins to wait for a slot. The function that it returns is called
	// when the key has one. It may be nil.
	queued func(ctx context.Context, key K) (over func())
}

// NewBounded returns a reconciler that works on at most most keys at a time. Queued may be nil.
func NewBounded[K comparable](r reconcile.TypedReconciler[K], most int, l *Liveness, name string,
	queued func(context.Context, K) func()) reconcile.TypedReconciler[K] {
	return bounded[K]{r, &slots{limit: most}, l, name, queued}
}

// Reconcile waits for a slot, and reconciles a key until the limit.
func (b bounded[K]) Reconcile(ctx context.Context, key K) (reconcile.Result, error) {
	if err := b.slots.acquire(ctx, func() func() { return b.waits(ctx, key) }); err != nil {
		return reconcile.Result{}, err
	}
	defer b.slots.release()
	defer b.liveness.begin(fmt.Sprintf("%s %v", b.name, key))()
	ctx, cancel := context.WithTimeoutCause(ctx, b.liveness.limit, errLong)
	defer cancel()
	return b.TypedReconciler.Reconcile(withWork(ctx, b.slots), key)
}

func (b bounded[K]) waits(ctx context.Context, key K) (over func()) {
	if b.queued == nil {
		return func() {}
	}
	return b.queued(ctx, key)
}
