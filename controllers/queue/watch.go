package queue

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// This file watches kinds of objects, and enqueues the keys that depend on a changed object.

// A Queue holds the keys that wait to be reconciled.
type Queue[K comparable] = workqueue.TypedRateLimitingInterface[K]

// A watched kind triggers reconciles of the leader. The other replicas keep it in their caches, so
// that a new leader can begin at once.
type watched[K comparable] struct {
	source.TypedSyncingSource[K]
	kind client.Object
	from cache.Cache
	late *late // nil for a kind that every cluster has
}

// late is about a kind that the cluster may not have yet.
type late struct {
	served <-chan struct{} // closed once it has
	waits  atomic.Bool     // it had not when the watch was to begin
}

// Optional has a watch begin when a channel is closed: the cluster has its kind from then on.
func Optional[K comparable](of source.TypedSource[K], served <-chan struct{}) source.TypedSource[K] {
	if w, is := of.(watched[K]); is && served != nil {
		w.late = &late{served: served}
		return w
	}
	return of
}

// fill starts to fill the cache. The cache of a kind that a cluster may lack is filled elsewhere.
func (w watched[K]) fill(ctx context.Context) error {
	if w.late != nil {
		return nil
	}
	_, err := w.from.GetInformer(ctx, w.kind, cache.BlockUntilSynced(false))
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("%w; are the definitions of config/crd installed?", err)
	}
	return err
}

// Start begins to watch, if the cluster has the kind, or once it has.
func (w watched[K]) Start(ctx context.Context, q Queue[K]) error {
	if w.late == nil {
		return w.TypedSyncingSource.Start(ctx, q)
	}
	select {
	case <-w.late.served:
		return w.TypedSyncingSource.Start(ctx, q)
	default:
	}
	w.late.waits.Store(true)
	go func() {
		select {
		case <-w.late.served:
			if err := w.TypedSyncingSource.Start(ctx, q); err != nil {
				log.FromContext(ctx).Error(err, "watching a kind that the cluster has by now", "kind", w.String())
			}
		case <-ctx.Done():
		}
	}()
	return nil
}

// WaitForSync waits until all objects have been seen.
func (w watched[K]) WaitForSync(ctx context.Context) error {
	if w.late != nil && w.late.waits.Load() {
		return nil
	}
	return w.TypedSyncingSource.WaitForSync(ctx)
}

func (w watched[K]) String() string { return fmt.Sprintf("%T", w.kind) }

// Watch enqueues the keys of an object when it is created or deleted, or changes in a way that
// matters.
func Watch[T client.Object, K comparable](from cache.Cache, kind T,
	matters func(before, after client.Object) bool,
	leadsTo func(context.Context, T) []K) source.TypedSource[K] {
	enqueue := func(ctx context.Context, o T, q Queue[K]) {
		for _, key := range leadsTo(ctx, o) {
			q.Add(key)
		}
	}
	return watched[K]{source.TypedKind(from, kind, handler.TypedFuncs[T, K]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[T], q Queue[K]) {
			enqueue(ctx, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[T], q Queue[K]) {
			enqueue(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[T], q Queue[K]) {
			enqueue(ctx, e.Object, q)
		},
	},
		predicate.TypedFuncs[T]{UpdateFunc: func(
			e event.TypedUpdateEvent[T]) bool {
			return matters(e.ObjectOld, e.ObjectNew)
		}}), kind, from, nil}
}

func EnqueueItself[K comparable](_ context.Context, e event.TypedGenericEvent[K], q Queue[K]) {
	q.Add(e.Object)
}

func ChangedVersion(before, after client.Object) bool {
	return before.GetResourceVersion() != after.GetResourceVersion()
}

// ChangedSpec reports whether the spec or an annotation of an object changed.
func ChangedSpec(before, after client.Object) bool {
	return before.GetGeneration() != after.GetGeneration() ||
		!equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations())
}

func ChangedLabels(before, after client.Object) bool {
	return !equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels())
}
