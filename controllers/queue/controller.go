// Package queue runs reconcilers: it watches kinds of objects, gathers changes that arrive
// together, limits the number and the duration of reconciles, and retries.
package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/fairlead/controllers/cluster"
)

// This file turns a reconciler into a controller of the manager.

// These are the names of the controllers whose backlog is measured.
const (
	BalancersLoop = "loadbalancers"
	TargetsLoop   = "targets"
)

// A Controller takes keys from its queue and has its reconciler work on them.
type Controller[K comparable] struct {
	Name       string
	Parallel   int
	Reconciler reconcile.TypedReconciler[K]
	Sources    []source.TypedSource[K]
	About      func(K) []any // the values of a key in log lines
	// Gather is how long a key waits for more changes; zero for not at all.
	Gather   time.Duration
	Caches   *cluster.CatchUp                               // awaited before it begins
	Liveness *Liveness                                      // of its reconciles
	Queued   func(ctx context.Context, key K) (over func()) // see bounded
}

// AddTo adds the controller to a manager, and begins to fill the caches of the kinds that it
// watches.
func (l Controller[K]) AddTo(ctx context.Context, m manager.Manager, logger logr.Logger) error {
	unique := true // two operators in one process, as tests have them, share their metrics
	options := controller.TypedOptions[K]{
		Reconciler: &patient[K]{
			TypedReconciler: NewBounded(l.Reconciler, l.Parallel, l.Liveness, l.Name, l.Queued),
		},
		MaxConcurrentReconciles: l.Parallel + mostWaiting,
		SkipNameValidation:      &unique,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[K](FirstRetry,
			LastRetry),
		LogConstructor: func(k *K) logr.Logger {
			if k == nil { // the controller itself
				return m.GetLogger().V(1)
			}
			return quiet(logger).WithName(l.Name).WithValues(l.About(*k)...)
		},
	}
	if l.Gather > 0 {
		options.NewQueue = inBursts[K](l.Gather)
	}
	c, err := controller.NewTyped(l.Name, m, options)
	if err != nil {
		return fmt.Errorf("making the controller of %s: %w", l.Name, err)
	}
	for _, s := range l.Sources {
		if w, ok := s.(watched[K]); ok {
			if err := w.fill(ctx); err != nil {
				return fmt.Errorf("filling the cache with %s: %w", w, err)
			}
			if err := l.Caches.Add(w.kind); err != nil {
				return err
			}
		}
		if err := c.Watch(s); err != nil {
			return fmt.Errorf("watching for %s: %w", l.Name, err)
		}
	}
	if err := c.Watch(cluster.CaughtUp[K]{CatchUp: l.Caches}); err != nil {
		return fmt.Errorf("watching for %s: %w", l.Name, err)
	}
	return nil
}
