// Package unassigned reconciles Ingresses of no load balancer: it sends events that say why, and
// removes finalizers that an operator before this one has left.
package unassigned

import (
	"context"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/diag"
)

// A Reconciler reconciles one Ingress at a time.
type Reconciler struct {
	*gather.Gatherer
	Events    *events.Recorder
	Ingresses *ingresses.Writer
	// Queue has Ingresses that may belong to no load balancer from now on.
	Queue chan event.TypedGenericEvent[types.NamespacedName]

	mu       sync.Mutex
	reported map[types.NamespacedName][]diag.Diagnostic
}

// Reconcile does nothing for an Ingress of a load balancer.
func (r *Reconciler) Reconcile(ctx context.Context, name types.NamespacedName) (reconcile.Result, error) {
	ref := cluster.RefTo(cluster.KindIngress, name.Namespace, name.Name)
	ing, err := cluster.Get[networkingv1.Ingress](ctx, r.Cache, ref)
	if err != nil {
		return reconcile.Result{}, err
	}
	if ing == nil {
		r.newOf(name, nil)
		return reconcile.Result{}, nil
	}
	place, err := r.PlaceOf(ctx, ing)
	if err != nil {
		return reconcile.Result{}, err
	}
	for _, d := range r.newOf(name, place.Homeless) {
		if r.Events.SentBefore(ctx, ing, d) {
			continue
		}
		if err := r.Events.Send(ctx, events.OfDiagnostic(ing, d)); err != nil {
			r.newOf(name, nil) // to be said once that is possible
			return reconcile.Result{}, err
		}
	}
	// While its class is missing, the cloud may have something of it.
	frozen := ing.DeletionTimestamp.IsZero() && slices.ContainsFunc(place.Homeless, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
	if len(place.Homes) > 0 || len(r.Directory.On(ref)) > 0 || frozen {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, r.Ingresses.RemoveFinalizer(ctx, ing)
}

// newOf returns the diagnostics that were not there the last time.
func (r *Reconciler) newOf(name types.NamespacedName, found []diag.Diagnostic) []diag.Diagnostic {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.reported[name]
	if r.reported == nil {
		r.reported = map[types.NamespacedName][]diag.Diagnostic{}
	}
	if r.reported[name] = found; len(found) == 0 {
		delete(r.reported, name)
	}
	return slices.DeleteFunc(slices.Clone(found), func(d diag.Diagnostic) bool { return slices.Contains(known, d) })
}

// Sources are what the reconciler is woken by.
func (r *Reconciler) Sources(from cache.Cache) []source.TypedSource[types.NamespacedName] {
	return []source.TypedSource[types.NamespacedName]{
		queue.Watch(from, &networkingv1.Ingress{}, cluster.ChangedIngress, func(_ context.Context, ing *networkingv1.Ingress) []types.NamespacedName {
			return []types.NamespacedName{client.ObjectKeyFromObject(ing)}
		}),
		queue.Watch(from, &networkingv1.IngressClass{}, queue.ChangedSpec, onAny[*networkingv1.IngressClass](r)),
		queue.Watch(from, &v1alpha1.LoadBalancerClass{}, queue.ChangedSpec, onAny[*v1alpha1.LoadBalancerClass](r)),
		queue.Watch(from, &v1alpha1.ClusterLoadBalancerClass{}, queue.ChangedSpec, onAny[*v1alpha1.ClusterLoadBalancerClass](r)),
		queue.Watch(from, &corev1.Namespace{}, queue.ChangedLabels, func(ctx context.Context, n *corev1.Namespace) []types.NamespacedName {
			return r.all(ctx, client.InNamespace(n.Name))
		}),
		source.TypedChannel(r.Queue, &handler.TypedFuncs[types.NamespacedName, types.NamespacedName]{GenericFunc: queue.EnqueueItself[types.NamespacedName]}),
	}
}

// onAny returns all Ingresses for an object of a kind.
func onAny[T client.Object](r *Reconciler) func(context.Context, T) []types.NamespacedName {
	return func(ctx context.Context, _ T) []types.NamespacedName { return r.all(ctx) }
}

// all returns all Ingresses, or those of a namespace: a change of a class can concern any of them,
// and the labels of a namespace decide which groups its Ingresses may join.
func (r *Reconciler) all(ctx context.Context, in ...client.ListOption) []types.NamespacedName {
	var list networkingv1.IngressList
	if err := r.Cache.List(ctx, &list, append(in, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil // the cache is being stopped
	}
	var out []types.NamespacedName
	for i := range list.Items {
		out = append(out, client.ObjectKeyFromObject(&list.Items[i]))
	}
	return out
}

// Diagnostics returns the diagnostics of Ingresses without a load balancer.
func (r *Reconciler) Diagnostics() []diag.Diagnostic {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(slices.Collect(maps.Values(r.reported))...)
}
