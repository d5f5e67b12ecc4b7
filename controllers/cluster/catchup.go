package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"k8s.io/client-go/util/workqueue"

	"k8s.io/apimachinery/pkg/runtime"
)

// This file delays a term until the caches hold the state of the API server. The cache of a new
// leader may be behind: its watch is broken for some seconds, or it was filled by an API server
// that is behind the others. The new leader would then undo changes of the last one.

// informers has the caches, by kind.
type informers interface {
	GetInformer(ctx context.Context, kind client.Object,
		opts ...cache.InformerGetOption) (cache.Informer, error)
}

// CatchUp waits once until the cache of each kind is as new as a list of the API server. Versions
// of a resource can be compared (https://www.kubernetes.dev/resources/keps/5504/).
type CatchUp struct {
	informers informers
	server    client.Reader
	scope     string // the namespace that the operator is limited to; "" for all
	scheme    *runtime.Scheme
	logger    logr.Logger

	kinds map[schema.GroupVersionKind]client.Object
	begin sync.Once
	over  chan struct{}
}

func NewCatchUp(of informers, server client.Reader, scope string, scheme *runtime.Scheme,
	logger logr.Logger) *CatchUp {
	return &CatchUp{
		informers: of, server: server, scope: scope, scheme: scheme, logger: logger,
		kinds: map[schema.GroupVersionKind]client.Object{}, over: make(chan struct{}),
	}
}

// Add adds a kind. Kinds that are watched as metadata are left out, since records and Secrets are
// read from the API server, and so are Pods, since a Pod that is not seen yet is waited for
// (unconfirmed.go).
func (c *CatchUp) Add(kind client.Object) error {
	switch kind.(type) {
	case *metav1.PartialObjectMetadata, *corev1.Pod:
		return nil
	}
	gvk, err := apiutil.GVKForObject(kind, c.scheme)
	if err != nil {
		return fmt.Errorf("adding a kind to those that are compared with the API server: %w", err)
	}
	c.kinds[gvk] = kind
	return nil
}

// start begins to compare, the first time it is called.
func (c *CatchUp) start(ctx context.Context) {
	c.begin.Do(func() {
		go func() {
			var kinds sync.WaitGroup
			for gvk, kind := range c.kinds {
				kinds.Go(func() { c.await(ctx, gvk, kind) })
			}
			kinds.Wait()
			close(c.over)
		}()
	})
}

// await waits until the cache of a kind holds what the API server holds, or the context ends.
func (c *CatchUp) await(ctx context.Context, gvk schema.GroupVersionKind, kind client.Object) {
	defer logIfLate(c.logger, gvk.Kind)()
	_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		err := c.compare(ctx, gvk, kind)
		if err != nil && ctx.Err() == nil {
			c.logger.Error(err, "asks the API server again", "kind", gvk.Kind)
		}
		return err == nil, nil
	})
}

// toleratedLag is how long a cache may be behind before the operator logs it.
const toleratedLag = 10 * time.Second

// logIfLate logs that a cache is behind, unless over is called in time.
func logIfLate(logger logr.Logger, kind string) (over func()) {
	late := time.AfterFunc(toleratedLag, func() {
		logger.Info(
			"the cache does not hold what the API server has; nothing is reconciled until it does",
			"kind", kind)
	})
	return func() { late.Stop() }
}

// compare lists a kind and waits until its cache is as new as the list.
func (c *CatchUp) compare(ctx context.Context, gvk schema.GroupVersionKind,
	kind client.Object) error {
	informer, err := c.informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if isAbsent(gvk.Kind, err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for the cache of %s: %w", gvk.Kind, err)
	}
	there, err := c.list(ctx, gvk)
	if isAbsent(gvk.Kind, err) {
		return nil // it was served once
	}
	if err != nil {
		return fmt.Errorf("listing %s: %w", gvk.Kind, err)
	}
	registration, err := informer.AddEventHandler(there)
	if err != nil {
		return fmt.Errorf("watching the cache of %s: %w", gvk.Kind, err)
	}
	// it fails for an informer that has ended
	defer func() { _ = informer.RemoveEventHandler(registration) }()
	if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return context.Cause(ctx)
	}
	return there.awaitCurrent(ctx)
}

// list asks the API server for the versions of a kind.
func (c *CatchUp) list(ctx context.Context, gvk schema.GroupVersionKind) (*lag, error) {
	out := &lag{
		covers: c.inScope, awaited: map[client.ObjectKey]string{}, outdated: map[client.ObjectKey]bool{},
		changed: make(chan struct{}, 1),
	}
	page := &metav1.PartialObjectMetadataList{}
	for next := ""; ; next = page.Continue {
		page = &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(gvk)
		of := append(scopeOptions(gvk.Kind, c.scope), client.Limit(500), client.Continue(next))
		if err := c.server.List(ctx, page, of...); err != nil {
			return nil, err
		}
		out.at = page.ResourceVersion
		for i := range page.Items {
			out.awaited[client.ObjectKeyFromObject(&page.Items[i])] = page.Items[i].ResourceVersion
		}
		if page.Continue == "" {
			out.listed = maps.Clone(out.awaited)
			return out, nil
		}
	}
}

// inScope reports whether the operator manages an object. The cache may have others too.
func (c *CatchUp) inScope(o client.Object) bool {
	if _, ok := o.(*corev1.Namespace); ok {
		return c.scope == "" || o.GetName() == c.scope
	}
	return c.scope == "" || o.GetNamespace() == "" || o.GetNamespace() == c.scope
}

// lag holds the objects for which a cache is behind a list of the API server. It handles the
// events of the cache.
type lag struct {
	covers func(client.Object) bool // whether the list is about an object

	at     string // the version of the list
	listed map[client.ObjectKey]string

	mu       sync.Mutex
	awaited  map[client.ObjectKey]string // missing in the cache, or older there
	outdated map[client.ObjectKey]bool   // in the cache, and deleted in the API server
	changed  chan struct{}               // has an element after a change
}

func (b *lag) OnAdd(o any, _ bool) { b.noteCached(o) }
func (b *lag) OnUpdate(_, o any)   { b.noteCached(o) }

// noteCached notes that the cache has a version of an object.
func (b *lag) noteCached(o any) {
	object, ok := o.(client.Object)
	if !ok || !b.covers(object) {
		return
	}
	key := client.ObjectKeyFromObject(object)
	b.change(func() {
		listed, found := b.listed[key]
		switch {
		case found && !isOlder(object.GetResourceVersion(), listed):
			delete(b.awaited, key)
		case !found && !isOlder(b.at, object.GetResourceVersion()):
			// the list is not older than the object, and does not have it
			b.outdated[key] = true
		case !found:
			delete(b.outdated, key)
		}
	})
}

// OnDelete notes that the cache does not have an object any more.
func (b *lag) OnDelete(o any) {
	key, err := toolscache.DeletionHandlingObjectToName(o)
	if err != nil {
		return
	}
	b.change(func() {
		delete(b.awaited, key.AsNamespacedName())
		delete(b.outdated, key.AsNamespacedName())
	})
}

func (b *lag) change(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// isOlder reports whether a version is older than another one; false if they cannot be compared.
func isOlder(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// awaitCurrent waits until the cache is not behind.
func (b *lag) awaitCurrent(ctx context.Context) error {
	for {
		b.mu.Lock()
		left := len(b.awaited) + len(b.outdated)
		b.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-b.changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// CaughtUp starts a loop after the caches have caught up.
type CaughtUp[K comparable] struct{ *CatchUp }

func (c CaughtUp[K]) Start(ctx context.Context, _ workqueue.TypedRateLimitingInterface[K]) error {
	c.start(ctx)
	return nil
}

// WaitForSync waits as long as the caches may take to be filled. A replica whose caches are behind
// for longer gives up its lease.
func (c CaughtUp[K]) WaitForSync(ctx context.Context) error {
	select {
	case <-c.over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting until the caches hold what the API server has (%v): %w",
			slices.Collect(maps.Keys(c.kinds)), context.Cause(ctx))
	}
}

func (CaughtUp[K]) String() string { return "caches that hold what the API server has" }
