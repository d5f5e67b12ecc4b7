package source

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/manifests"
)

// This file follows the changes of a cluster.

const (
	// calm is the time for which changes are collected. A large cluster changes all the time.
	calm = 2 * time.Second
	// again is how often a kind is read that cannot be watched.
	again = 30 * time.Second
)

// WatchCluster sends after changes to objects that are compiled, or to what the operator reports, until the context ends.
func WatchCluster(ctx context.Context, h access.Cluster) (<-chan struct{}, error) {
	cluster, err := h.Watcher()
	if err != nil {
		return nil, err
	}
	changed := make(chan struct{}, 1)
	report := manifests.Kind{APIVersion: v1alpha1.GroupVersion.String(), Name: "LoadBalancer", Namespaced: true}
	for _, k := range append([]manifests.Kind{report}, manifests.Kinds...) {
		namespace := h.Namespace
		if !k.Namespaced {
			namespace = ""
		}
		go watchKind(ctx, cluster, k, namespace, changed)
	}
	out := make(chan struct{})
	go func() {
		defer close(out)
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			select {
			case <-ctx.Done():
			case <-time.After(calm):
			}
			select {
			case <-changed:
			default:
			}
			select {
			case out <- struct{}{}:
			case <-ctx.Done():
			}
		}
	}()
	return out, nil
}

// watchKind notes each change of the objects of a kind.
func watchKind(ctx context.Context, cluster client.WithWatch, k manifests.Kind, namespace string, changed chan<- struct{}) {
	note := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	for ctx.Err() == nil {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.FromAPIVersionAndKind(k.APIVersion, k.Name+"List"))
		err := cluster.List(ctx, list, client.InNamespace(namespace), client.Limit(1))
		if err == nil {
			err = watchFrom(ctx, cluster, k, namespace, list.ResourceVersion, note)
		}
		wait := calm
		if err != nil {
			wait = again
			if !meta.IsNoMatchError(err) { // the kind may come with a CRD
				note()
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// watchFrom notes changes since a version, until the API server ends the watch. It gets metadata alone: no contents of Secrets.
func watchFrom(ctx context.Context, cluster client.WithWatch, k manifests.Kind, namespace, version string, note func()) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.FromAPIVersionAndKind(k.APIVersion, k.Name+"List"))
	options := &client.ListOptions{Namespace: namespace, Raw: &metav1.ListOptions{ResourceVersion: version}}
	watched, err := cluster.Watch(ctx, list, options)
	if err != nil {
		return err
	}
	defer watched.Stop()
	for range watched.ResultChan() {
		note()
	}
	note() // changes between this watch and the next one
	return nil
}
