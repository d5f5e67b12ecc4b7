package bindings

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
)

// This file turns a change of an object into the bindings that depend on it.

// Sources returns the watches of the reconciler.
func (r *Reconciler) Sources(from cache.Cache) []source.TypedSource[types.NamespacedName] {
	all := func(ctx context.Context) []types.NamespacedName {
		return r.which(ctx, func(*alb.TargetGroupBinding) bool { return true })
	}
	return []source.TypedSource[types.NamespacedName]{
		queue.Optional(queue.Watch(from, &alb.TargetGroupBinding{}, changed, r.onBinding),
			r.Optional.Served(cluster.KindTargetGroupBinding)),
		queue.Watch(from, &networkingv1.IngressClass{}, queue.ChangedSpec,
			func(ctx context.Context, _ *networkingv1.IngressClass) []types.NamespacedName { return all(ctx) }),
		queue.Watch(from, &v1alpha1.ClusterLoadBalancerClass{}, queue.ChangedSpec,
			func(ctx context.Context, _ *v1alpha1.ClusterLoadBalancerClass) []types.NamespacedName {
				return all(ctx)
			}),
		queue.Watch(from, &v1alpha1.LoadBalancerClass{}, queue.ChangedSpec,
			func(ctx context.Context, _ *v1alpha1.LoadBalancerClass) []types.NamespacedName { return all(ctx) }),
		queue.Watch(from, &corev1.Namespace{}, queue.ChangedLabels,
			func(ctx context.Context, n *corev1.Namespace) []types.NamespacedName {
				return r.which(ctx, func(b *alb.TargetGroupBinding) bool { return b.Namespace == n.Name })
			}),
		queue.Watch(from, &corev1.Service{}, cluster.ChangedServiceSpec,
			func(ctx context.Context, s *corev1.Service) []types.NamespacedName {
				return r.which(ctx, func(b *alb.TargetGroupBinding) bool {
					return b.Namespace == s.Namespace && b.Spec.ServiceRef.Name == s.Name
				})
			}),
		source.TypedFunc[types.NamespacedName](func(_ context.Context, q queue.Queue[types.NamespacedName]) error {
			q.Add(begin)
			return nil
		}),
		source.TypedChannel(r.Wake, &handler.TypedFuncs[types.NamespacedName, types.NamespacedName]{
			GenericFunc: queue.EnqueueItself[types.NamespacedName]}),
	}
}

// changed reports whether a binding has changed in a way that matters: not by its status.
func changed(before, after client.Object) bool {
	was, is := before.(*alb.TargetGroupBinding), after.(*alb.TargetGroupBinding)
	return was.Generation != is.Generation || was.UID != is.UID || !maps.Equal(was.Labels, is.Labels) ||
		!slices.Equal(was.Finalizers, is.Finalizers) ||
		was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero()
}

// onBinding returns a binding and the others that may name its target group, and may have to wait for it.
func (r *Reconciler) onBinding(ctx context.Context, b *alb.TargetGroupBinding) []types.NamespacedName {
	memory := r.Memories.of(client.ObjectKeyFromObject(b))
	return append(r.which(ctx, func(other *alb.TargetGroupBinding) bool {
		return other.UID != b.UID && (mayNameTheSame(other, b) || memory != nil && mayName(other, memory.Group))
	}), client.ObjectKeyFromObject(b))
}

// mayNameTheSame reports whether two bindings may name the same target group.
func mayNameTheSame(one, other *alb.TargetGroupBinding) bool {
	if arn := other.Spec.TargetGroupARN; arn != "" {
		return mayName(one, lb.GroupID(arn))
	}
	if arn := one.Spec.TargetGroupARN; arn != "" {
		return mayName(other, lb.GroupID(arn))
	}
	return one.Spec.TargetGroupName != "" && one.Spec.TargetGroupName == other.Spec.TargetGroupName
}

// which returns the names of some bindings.
func (r *Reconciler) which(ctx context.Context, some func(*alb.TargetGroupBinding) bool) (names []types.NamespacedName) {
	if !r.Optional.Has(cluster.KindTargetGroupBinding) {
		return nil
	}
	all, err := r.all(ctx)
	if err != nil {
		return nil // the cache stops
	}
	for _, b := range all {
		if some(b) {
			names = append(names, client.ObjectKeyFromObject(b))
		}
	}
	return names
}
