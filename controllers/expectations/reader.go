// Package expectations reads the expectations of classes from ConfigMaps, and decides which plans
// they forbid.
package expectations

import (
	"context"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/expect"
	"fairlead.dev/fairlead/model/printable"
)

// This file reads the ConfigMaps that classes name, each by its name: a role can be limited to
// these names.

// A Set is the expectations of a ConfigMap.
type Set struct {
	ConfigMap cluster.Ref
	All       []expect.Expectation
	// Unread is the reason for which the expectations are missing: the ConfigMap does not exist,
	// cannot be read, or has other data.
	Unread string
}

// A Reader reads the ConfigMaps that classes name.
type Reader struct {
	server  client.Reader
	watcher client.WithWatch // nil where nothing is watched
	ended   <-chan struct{}
	// Changed is called after a watched ConfigMap has changed.
	Changed func(cluster.Ref)

	mu      sync.Mutex
	watched map[cluster.Ref]toolscache.SharedInformer
	parsed  map[cluster.Ref]parsed
}

// A parsed holds the expectations in one version of a ConfigMap.
type parsed struct {
	version string
	set     Set
}

// NewReader returns a Reader that asks the API server. With a watcher, it keeps and watches the
// ConfigMaps that it has read, until the operator ends.
func NewReader(server client.Reader, watcher client.WithWatch, ended <-chan struct{}) *Reader {
	return &Reader{
		server: server, watcher: watcher, ended: ended, Changed: func(cluster.Ref) {},
		watched: map[cluster.Ref]toolscache.SharedInformer{}, parsed: map[cluster.Ref]parsed{},
	}
}

// Read reads the expectations of a ConfigMap.
func (r *Reader) Read(ctx context.Context, ref cluster.Ref) Set {
	found, err := r.get(ctx, ref)
	switch {
	case apierrors.IsNotFound(err):
		return Set{ConfigMap: ref, Unread: "there is no such ConfigMap"}
	case err != nil:
		return Set{ConfigMap: ref, Unread: printable.Shorten(err.Error())}
	}
	return r.parse(ref, found)
}

// get returns a ConfigMap from its watch, and from the API server until it is watched.
func (r *Reader) get(ctx context.Context, ref cluster.Ref) (*corev1.ConfigMap, error) {
	if informer := r.watch(ref); informer != nil && informer.HasSynced() {
		for _, o := range informer.GetStore().List() {
			if found, ok := o.(*corev1.ConfigMap); ok {
				return found, nil
			}
		}
		return nil, apierrors.NewNotFound(corev1.Resource("configmaps"), ref.Name)
	}
	found := &corev1.ConfigMap{}
	err := r.server.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, found)
	return found, err //nolint:wrapcheck // the caller tells it from others, and says what was read
}

// watch watches a ConfigMap from its first read on.
func (r *Reader) watch(ref cluster.Ref) toolscache.SharedInformer {
	if r.watcher == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.watched[ref]; known != nil {
		return known
	}
	informer := toolscache.NewSharedInformer(r.listing(ref), &corev1.ConfigMap{}, 0)
	changed := func() { r.Changed(ref) }
	_, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() },
		DeleteFunc: func(any) { changed() },
	})
	if err != nil {
		return nil // the operator has ended: the API server is asked
	}
	r.watched[ref] = informer
	go informer.Run(r.ended)
	return informer
}

// listing lists and watches one ConfigMap. A role that is limited to names permits a list or a
// watch with this selector
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources).
func (r *Reader) listing(ref cluster.Ref) *toolscache.ListWatch {
	options := func(o metav1.ListOptions) *client.ListOptions {
		only := fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name)
		return &client.ListOptions{Namespace: ref.Namespace, FieldSelector: only, Raw: &o}
	}
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			found := &corev1.ConfigMapList{}
			if err := r.watcher.List(ctx, found, options(o)); err != nil {
				return nil, fmt.Errorf("listing ConfigMap %s: %w", ref, err)
			}
			return found, nil
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := r.watcher.Watch(ctx, &corev1.ConfigMapList{}, options(o))
			if err != nil {
				return nil, fmt.Errorf("watching ConfigMap %s: %w", ref, err)
			}
			return w, nil
		},
	}
}

// parse reads the data of a ConfigMap, once for each of its versions.
func (r *Reader) parse(ref cluster.Ref, found *corev1.ConfigMap) Set {
	version := string(found.UID) + "/" + found.ResourceVersion
	r.mu.Lock()
	known := r.parsed[ref]
	r.mu.Unlock()
	if known.version == version {
		return known.set
	}
	out := Set{ConfigMap: ref}
	all, err := expect.ReadData(maps.Clone(found.Data))
	if err != nil {
		out.Unread = printable.Shorten(err.Error())
	}
	out.All = all
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parsed[ref] = parsed{version, out}
	return out
}
