package gather

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/record"
)

// This file reads objects from the cache and, where the cache may be behind, from the API server.

// ingresses returns the Ingresses of the given names; nil for one that does not exist.
func (g *Gatherer) ingresses(ctx context.Context,
	names []string) (map[string]*networkingv1.Ingress, error) {
	out := map[string]*networkingv1.Ingress{}
	for _, n := range names {
		ing, err := cluster.Get[networkingv1.Ingress](ctx, g.Cache,
			cluster.RefFrom(cluster.KindIngress, n))
		if err != nil {
			return nil, err
		}
		out[n] = ing
	}
	return out, nil
}

// confirmIngresses asks the API server about Ingresses that are in the record and not in the cache,
// or the reverse.
//
// An Ingress is in the record only: the operator sees the deletion of an Ingress that has the
// finalizer. So the finalizer was removed by force, or the cache was filled, after a start, by an
// API server that lags behind the others.
//
// An Ingress with the finalizer is in the cache only: it is added to the record before it gets the
// finalizer, and removed after it has lost it. So the last leader may have removed the finalizer
// while the watch of this cache was broken.
func (g *Gatherer) confirmIngresses(ctx context.Context, known map[string]*networkingv1.Ingress,
	recorded record.Record) (err error) {
	for n, ing := range known {
		_, remembered := recorded.Members[n]
		held := ing != nil && ing.DeletionTimestamp.IsZero() && controllerutil.ContainsFinalizer(ing,
			v1alpha1.IngressFinalizer)
		if remembered && ing != nil || !remembered && !held {
			continue
		}
		known[n], err = cluster.Get[networkingv1.Ingress](ctx, g.Server,
			cluster.RefFrom(cluster.KindIngress, n))
		if err != nil {
			return err
		}
	}
	return nil
}

// namespaces reads the namespaces of Ingresses, and more, if they exist.
func (g *Gatherer) namespaces(ctx context.Context, ingresses []*networkingv1.Ingress,
	more ...string) ([]*corev1.Namespace, error) {
	refs := map[cluster.Ref]bool{}
	for _, ing := range ingresses {
		refs[cluster.RefTo(cluster.KindNamespace, "", ing.Namespace)] = true
	}
	for _, namespace := range more {
		refs[cluster.RefTo(cluster.KindNamespace, "", namespace)] = true
	}
	return cluster.GetAll[corev1.Namespace](ctx, g.Cache, refs, nil)
}

// withFreshReader returns a Gatherer that reads from the API server the objects that decide the
// rules: Ingresses, classes, namespaces, Backends and Services. Endpoints, Pods and Nodes decide
// only the targets, and come from the cache.
func (g *Gatherer) withFreshReader() *Gatherer {
	again := *g
	again.Cache = &cluster.FreshReader{
		Reader: g.Cache, Server: g.Server, Scope: g.Scope,
		Read: map[reflect.Type]map[client.ObjectKey]client.Object{},
	}
	return &again
}
