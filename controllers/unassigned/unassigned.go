// Package unassigned reconciles Ingresses without a load balancer: it sends events with the reason,
// and removes finalizers that an earlier operator has left.
package unassigned

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

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
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
)

// A Reconciler reconciles one Ingress at a time.
type Reconciler struct {
	*gather.Placer
	Events    *events.Recorder
	Ingresses *ingresses.Writer
	// Queue has Ingresses that may have lost their load balancer.
	Queue chan event.TypedGenericEvent[types.NamespacedName]

	mu       sync.Mutex
	reported map[types.NamespacedName][]diag.Diagnostic
}

// Reconcile sends new diagnostics of an Ingress that belongs to no load balancer, and removes its
// finalizer once no load balancer depends on it.
func (r *Reconciler) Reconcile(ctx context.Context,
	name types.NamespacedName) (reconcile.Result, error) {
	ref := cluster.RefTo(cluster.KindIngress, name.Namespace, name.Name)
	ing, err := cluster.Get[networkingv1.Ingress](ctx, r.Cache, ref)
	if err != nil {
		return reconcile.Result{}, err
	}
	if ing == nil {
		r.newDiagnostics(name, nil)
		return reconcile.Result{}, nil
	}
	place, err := r.PlaceOf(ctx, ing)
	if err != nil {
		return reconcile.Result{}, err
	}
	news := slices.DeleteFunc(r.newDiagnostics(name, place.Diagnostics), func(d diag.Diagnostic) bool {
		return r.Events.SentBefore(ctx, ing, d)
	})
	for _, d := range news {
		if err := r.Events.Send(ctx, events.FromDiagnostic(ing, d)); err != nil {
			r.newDiagnostics(name, nil) // to be reported as soon as possible
			return reconcile.Result{}, err
		}
	}
	wait, err := r.renewEvents(ctx, ing, place.Diagnostics)
	if err != nil {
		return reconcile.Result{}, err
	}
	// Without its class, the cloud may still have resources of it.
	frozen := ing.DeletionTimestamp.IsZero() && slices.ContainsFunc(place.Diagnostics,
		func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
	if len(place.Keys) > 0 || len(r.Directory.DependentsOf(ref)) > 0 || frozen {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	return reconcile.Result{RequeueAfter: wait}, r.Ingresses.RemoveFinalizer(ctx, ing)
}

// renewEvents renews the events of errors, and returns when the next is due; 0 for never.
func (r *Reconciler) renewEvents(ctx context.Context, ing *networkingv1.Ingress,
	found []diag.Diagnostic) (wait time.Duration, err error) {
	for _, d := range found {
		if d.Severity != diag.Error || !ing.DeletionTimestamp.IsZero() {
			continue
		}
		next, err := r.Events.Renew(ctx, ing, d)
		if err != nil {
			return 0, err
		}
		wait = queue.Sooner(wait, next)
	}
	return wait, nil
}

// newDiagnostics returns the diagnostics that the last reconcile did not have.
func (r *Reconciler) newDiagnostics(
	name types.NamespacedName, found []diag.Diagnostic,
) []diag.Diagnostic {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.reported[name]
	if r.reported == nil {
		r.reported = map[types.NamespacedName][]diag.Diagnostic{}
	}
	if r.reported[name] = found; len(found) == 0 {
		delete(r.reported, name)
	}
	return slices.DeleteFunc(slices.Clone(found), func(d diag.Diagnostic) bool {
		return slices.Contains(known, d)
	})
}

// Sources returns the watches of the reconciler.
func (r *Reconciler) Sources(from cache.Cache) []source.TypedSource[types.NamespacedName] {
	return []source.TypedSource[types.NamespacedName]{
		queue.Watch(from, &networkingv1.Ingress{}, cluster.ChangedIngress,
			func(_ context.Context, ing *networkingv1.Ingress) []types.NamespacedName {
				return []types.NamespacedName{client.ObjectKeyFromObject(ing)}
			}),
		queue.Watch(from, &networkingv1.IngressClass{}, queue.ChangedSpec,
			func(ctx context.Context, c *networkingv1.IngressClass) []types.NamespacedName {
				return r.affected(ctx, cluster.RefOf(cluster.KindIngressClass, c), []string{c.Name})
			}),
		queue.Watch(from, &v1alpha1.LoadBalancerClass{}, queue.ChangedSpec,
			onParameters[*v1alpha1.LoadBalancerClass](r, v1alpha1.KindLoadBalancerClass)),
		queue.Watch(from, &v1alpha1.ClusterLoadBalancerClass{}, queue.ChangedSpec,
			onParameters[*v1alpha1.ClusterLoadBalancerClass](r, v1alpha1.KindClusterLoadBalancerClass)),
		queue.Optional(queue.Watch(from, &alb.IngressClassParams{}, queue.ChangedSpec,
			onParameters[*alb.IngressClassParams](r, cluster.KindIngressClassParams)),
			r.Optional.Served(cluster.KindIngressClassParams)),
		queue.Watch(from, &corev1.Namespace{}, queue.ChangedLabels,
			func(ctx context.Context, n *corev1.Namespace) []types.NamespacedName {
				return namesOf(r.AffectedIn(ctx, n))
			}),
		source.TypedChannel(r.Queue, &handler.TypedFuncs[types.NamespacedName,
			types.NamespacedName]{GenericFunc: queue.EnqueueItself[types.NamespacedName]}),
	}
}

// onParameters returns the Ingresses of the classes that refer to an object of a kind.
func onParameters[T client.Object](r *Reconciler,
	kind string) func(context.Context, T) []types.NamespacedName {
	return func(ctx context.Context, o T) []types.NamespacedName {
		changed := cluster.RefOf(kind, o)
		classes, err := r.ClassesOf(ctx, changed)
		if err != nil {
			return nil // the cache is being stopped
		}
		return r.affected(ctx, changed, classes)
	}
}

// affected returns the Ingresses whose load balancers can change with classes, or with an object to
// which these refer.
func (r *Reconciler) affected(ctx context.Context, changed cluster.Ref,
	classes []string) []types.NamespacedName {
	return namesOf(r.Affected(ctx, changed, classes))
}

// namesOf returns the names of Ingresses; none if the cache is being stopped.
func namesOf(found []*networkingv1.Ingress, _ error) []types.NamespacedName {
	var out []types.NamespacedName
	for _, ing := range found {
		out = append(out, client.ObjectKeyFromObject(ing))
	}
	return out
}

// Diagnostics returns the diagnostics of Ingresses without a load balancer.
func (r *Reconciler) Diagnostics() []diag.Diagnostic {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(slices.Collect(maps.Values(r.reported))...)
}
