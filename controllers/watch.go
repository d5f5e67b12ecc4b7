package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// This file watches kinds of objects, and enqueues what a change of an object leads to.

// A queue holds the keys that wait to be reconciled.
type workQueue[K comparable] = workqueue.TypedRateLimitingInterface[K]

// A watched kind wakes the leader. The others have it in their caches all the same, so that whoever
// takes over can work at once.
type watched[K comparable] struct {
	source.TypedSyncingSource[K]
	kind client.Object
	from cache.Cache
}

// fill begins to fill the cache.
func (w watched[K]) fill(ctx context.Context) error {
	_, err := w.from.GetInformer(ctx, w.kind, cache.BlockUntilSynced(false))
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("%w; are the definitions of config/crd installed?", err)
	}
	return err
}

func (w watched[K]) String() string { return fmt.Sprintf("%T", w.kind) }

// watch enqueues what an object leads to, when it comes, goes or changes in a way that matters.
func watch[T client.Object, K comparable](from cache.Cache, kind T, matters func(before, after client.Object) bool, leadsTo func(context.Context, T) []K) source.TypedSource[K] {
	enqueue := func(ctx context.Context, o T, q workQueue[K]) {
		for _, key := range leadsTo(ctx, o) {
			q.Add(key)
		}
	}
	return watched[K]{source.TypedKind(from, kind, handler.TypedFuncs[T, K]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[T], q workQueue[K]) { enqueue(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[T], q workQueue[K]) { enqueue(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[T], q workQueue[K]) { enqueue(ctx, e.Object, q) },
	}, predicate.TypedFuncs[T]{UpdateFunc: func(e event.TypedUpdateEvent[T]) bool { return matters(e.ObjectOld, e.ObjectNew) }}), kind, from}
}

func enqueueItself[K comparable](_ context.Context, e event.TypedGenericEvent[K], q workQueue[K]) {
	q.Add(e.Object)
}

func changedAtAll(before, after client.Object) bool {
	return before.GetResourceVersion() != after.GetResourceVersion()
}

// changedSpec, for kinds of which every field but the metadata is read.
func changedSpec(before, after client.Object) bool {
	return before.GetGeneration() != after.GetGeneration() || !equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations())
}

func changedLabels(before, after client.Object) bool {
	return !equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels())
}
