package controllers

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

// This file reconciles Ingresses of no load balancer: it sends events that say why, and removes
// finalizers that an operator before this one has left.

// An unassignedReconciler reconciles one Ingress at a time.
type unassignedReconciler struct {
	*gather.Gatherer
	events    *events.Recorder
	ingresses *ingresses.Writer
	wake      chan event.TypedGenericEvent[types.NamespacedName]

	mu   sync.Mutex
	told map[types.NamespacedName][]diag.Diagnostic
}

// Reconcile does nothing for an Ingress of a load balancer.
func (s *unassignedReconciler) Reconcile(ctx context.Context, name types.NamespacedName) (reconcile.Result, error) {
	who := cluster.RefTo(cluster.KindIngress, name.Namespace, name.Name)
	ing, err := cluster.Get[networkingv1.Ingress](ctx, s.Cache, who)
	if err != nil {
		return reconcile.Result{}, err
	}
	if ing == nil {
		s.news(name, nil)
		return reconcile.Result{}, nil
	}
	place, err := s.PlaceOf(ctx, ing)
	if err != nil {
		return reconcile.Result{}, err
	}
	for _, d := range s.news(name, place.Homeless) {
		if s.events.SentBefore(ctx, ing, d) {
			continue
		}
		if err := s.events.Send(ctx, events.OfDiagnostic(ing, d)); err != nil {
			s.news(name, nil) // to be said once that is possible
			return reconcile.Result{}, err
		}
	}
	// While its class is missing, the cloud may have something of it.
	frozen := ing.DeletionTimestamp.IsZero() && slices.ContainsFunc(place.Homeless, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
	if len(place.Homes) > 0 || len(s.Directory.On(who)) > 0 || frozen {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, s.ingresses.RemoveFinalizer(ctx, ing)
}

// news returns the diagnostics that were not there the last time.
func (s *unassignedReconciler) news(name types.NamespacedName, found []diag.Diagnostic) []diag.Diagnostic {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.told[name]
	if s.told == nil {
		s.told = map[types.NamespacedName][]diag.Diagnostic{}
	}
	if s.told[name] = found; len(found) == 0 {
		delete(s.told, name)
	}
	return slices.DeleteFunc(slices.Clone(found), func(d diag.Diagnostic) bool { return slices.Contains(known, d) })
}

func (s *unassignedReconciler) sources(from cache.Cache) []source.TypedSource[types.NamespacedName] {
	return []source.TypedSource[types.NamespacedName]{
		queue.Watch(from, &networkingv1.Ingress{}, cluster.ChangedIngress, func(_ context.Context, ing *networkingv1.Ingress) []types.NamespacedName {
			return []types.NamespacedName{client.ObjectKeyFromObject(ing)}
		}),
		queue.Watch(from, &networkingv1.IngressClass{}, queue.ChangedSpec, onAny[*networkingv1.IngressClass](s)),
		queue.Watch(from, &v1alpha1.LoadBalancerClass{}, queue.ChangedSpec, onAny[*v1alpha1.LoadBalancerClass](s)),
		queue.Watch(from, &v1alpha1.ClusterLoadBalancerClass{}, queue.ChangedSpec, onAny[*v1alpha1.ClusterLoadBalancerClass](s)),
		queue.Watch(from, &corev1.Namespace{}, queue.ChangedLabels, func(ctx context.Context, n *corev1.Namespace) []types.NamespacedName {
			return s.all(ctx, client.InNamespace(n.Name))
		}),
		source.TypedChannel(s.wake, &handler.TypedFuncs[types.NamespacedName, types.NamespacedName]{GenericFunc: queue.EnqueueItself[types.NamespacedName]}),
	}
}

// onAny returns all Ingresses for an object of a kind.
func onAny[T client.Object](s *unassignedReconciler) func(context.Context, T) []types.NamespacedName {
	return func(ctx context.Context, _ T) []types.NamespacedName { return s.all(ctx) }
}

// all returns all Ingresses, or those of a namespace: a change of a class can concern any of them,
// and the labels of a namespace decide which groups its Ingresses may join.
func (s *unassignedReconciler) all(ctx context.Context, in ...client.ListOption) []types.NamespacedName {
	var list networkingv1.IngressList
	if err := s.Cache.List(ctx, &list, append(in, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil // the cache is being stopped
	}
	var out []types.NamespacedName
	for i := range list.Items {
		out = append(out, client.ObjectKeyFromObject(&list.Items[i]))
	}
	return out
}

// diagnostics returns the diagnostics of Ingresses without a load balancer.
func (s *unassignedReconciler) diagnostics() []diag.Diagnostic {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(slices.Collect(maps.Values(s.told))...)
}
