package gather

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/ingress"
)

// This file reads objects from the cache and, where the cache may be behind, from the API server.

// Classes are all classes and their parameters: few, and any of them may matter.
func (g *Gatherer) Classes(ctx context.Context) (ingress.Objects, error) {
	var o ingress.Objects
	var classes networkingv1.IngressClassList
	var clusterwide v1alpha1.ClusterLoadBalancerClassList
	var namespaced v1alpha1.LoadBalancerClassList
	for _, list := range []client.ObjectList{&classes, &clusterwide, &namespaced} {
		if err := g.Cache.List(ctx, list); err != nil {
			return o, fmt.Errorf("listing classes: %w", err)
		}
	}
	o.IngressClasses = cluster.Pointers(classes.Items)
	o.ClusterLoadBalancerClasses = cluster.Pointers(clusterwide.Items)
	o.LoadBalancerClasses = cluster.Pointers(namespaced.Items)
	return o, nil
}

// ingresses are those of the given names; nil where there is none any more.
func (g *Gatherer) ingresses(ctx context.Context, names []string) (map[string]*networkingv1.Ingress, error) {
	out := map[string]*networkingv1.Ingress{}
	for _, n := range names {
		ing, err := cluster.Get[networkingv1.Ingress](ctx, g.Cache, cluster.RefFrom(cluster.KindIngress, n))
		if err != nil {
			return nil, err
		}
		out[n] = ing
	}
	return out, nil
}

// askAgain asks the API server itself about Ingresses of which the cache and the record say
// different things.
//
// One that is remembered and seems to be gone: an Ingress that we hold is seen being deleted, so
// one that is not there was let go by force, or, after a start, the cache was filled by an API
// Server that lags behind the others.
//
// One that is not remembered and has our finalizer: each is remembered before it gets the
// finalizer, and forgotten before it loses it, so the operator that led before may have let go of
// it, and the watch of this one's cache was broken then.
func (g *Gatherer) askAgain(ctx context.Context, known map[string]*networkingv1.Ingress, memory ingress.Memory) (err error) {
	for n, ing := range known {
		_, remembered := memory.Members[n]
		held := ing != nil && ing.DeletionTimestamp.IsZero() && controllerutil.ContainsFinalizer(ing, v1alpha1.IngressFinalizer)
		if remembered && ing != nil || !remembered && !held {
			continue
		}
		if known[n], err = cluster.Get[networkingv1.Ingress](ctx, g.Server, cluster.RefFrom(cluster.KindIngress, n)); err != nil {
			return err
		}
	}
	return nil
}

// namespaces reads those of Ingresses, and some more, as far as they exist.
func (g *Gatherer) namespaces(ctx context.Context, ingresses []*networkingv1.Ingress, more ...string) ([]*corev1.Namespace, error) {
	refs := map[cluster.Ref]bool{}
	for _, ing := range ingresses {
		refs[cluster.RefTo(cluster.KindNamespace, "", ing.Namespace)] = true
	}
	for _, namespace := range more {
		refs[cluster.RefTo(cluster.KindNamespace, "", namespace)] = true
	}
	return cluster.GetAll[corev1.Namespace](ctx, g.Cache, refs, nil)
}

// anew is a gatherer that reads from the API server what decides whether there is a rule for what
// an Ingress asks: the Ingresses, their classes, their namespaces, and the Backends and Services
// that they name. Endpoints, Pods and Nodes decide where requests are sent, and a rule stays where
// there are none.
func (g *Gatherer) anew() *Gatherer {
	again := *g
	again.Cache = &cluster.FreshReader{Reader: g.Cache, Server: g.Server, Scope: g.Scope, Read: map[reflect.Type]map[client.ObjectKey]client.Object{}}
	return &again
}
