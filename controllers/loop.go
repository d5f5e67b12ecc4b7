package controllers

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

// The loops whose changes are measured.
const (
	balancersLoop = "loadbalancers"
	targetsLoop   = "targets"
)

// A loop takes one thing after the other.
type loop[K comparable] struct {
	name       string
	parallel   int
	reconciler reconcile.TypedReconciler[K]
	sources    []source.TypedSource[K]
	about      func(K) []any // what every log line about a thing says of it
	// gather is how long what is to be done waits for more of the same; zero for not at all.
	gather time.Duration
	caches *cluster.CatchUp                               // what it waits for before it begins
	pulse  *pulse                                         // the liveness probe looks at it
	queued func(ctx context.Context, key K) (over func()) // see bounded
}

// addTo adds the loop to a manager, and begins to fill the caches of what wakes it.
func (l loop[K]) addTo(ctx context.Context, m manager.Manager, logger logr.Logger) error {
	unique := true // two operators in one process, as tests have them, share their metrics
	options := controller.TypedOptions[K]{
		Reconciler:              &patient[K]{TypedReconciler: newBounded(l.reconciler, newSlots(l.parallel), l.pulse, l.name, l.queued)},
		MaxConcurrentReconciles: l.parallel + mostWaiting,
		SkipNameValidation:      &unique,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[K](firstRetry, lastRetry),
		LogConstructor: func(k *K) logr.Logger {
			if k == nil { // the controller itself
				return m.GetLogger().V(1)
			}
			return quiet(logger).WithName(l.name).WithValues(l.about(*k)...)
		},
	}
	if l.gather > 0 {
		options.NewQueue = inBursts[K](l.gather)
	}
	c, err := controller.NewTyped(l.name, m, options)
	if err != nil {
		return fmt.Errorf("making the controller of %s: %w", l.name, err)
	}
	for _, s := range l.sources {
		if w, ok := s.(watched[K]); ok {
			if err := w.fill(ctx); err != nil {
				return fmt.Errorf("filling the cache with %s: %w", w, err)
			}
			if err := l.caches.Add(w.kind); err != nil {
				return err
			}
		}
		if err := c.Watch(s); err != nil {
			return fmt.Errorf("watching for %s: %w", l.name, err)
		}
	}
	if err := c.Watch(cluster.CaughtUp[K]{CatchUp: l.caches}); err != nil {
		return fmt.Errorf("watching for %s: %w", l.name, err)
	}
	return nil
}
