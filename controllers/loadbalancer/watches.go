package loadbalancer

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
)

// This file turns a change of an object into the keys of the load balancers that depend on it.

// changedIngress reports whether a change of an Ingress needs a reconcile: a field that is read has
// changed, or another writer has changed the writes of this operator.
func (r *Reconciler) changedIngress(before, after client.Object) bool {
	return cluster.ChangedIngress(before, after) ||
		r.Ingresses.ChangedByOthers(after.(*networkingv1.Ingress))
}

// Sources returns the watches of the reconciler.
func (r *Reconciler) Sources(from cache.Cache) []source.TypedSource[lb.Key] {
	all := []source.TypedSource[lb.Key]{
		queue.Watch(from, &networkingv1.Ingress{}, r.changedIngress, queue.Recording(&r.backlog, r.onIngress)),
		queue.Watch(from, &networkingv1.IngressClass{}, queue.ChangedSpec, queue.Recording(&r.backlog, r.onClass)),
		queue.Watch(from, &v1alpha1.LoadBalancerClass{}, queue.ChangedSpec,
			queue.Recording(&r.backlog, func(ctx context.Context, c *v1alpha1.LoadBalancerClass) []lb.Key {
				return r.onParameters(ctx, v1alpha1.KindLoadBalancerClass, c)
			})),
		queue.Watch(from, &v1alpha1.ClusterLoadBalancerClass{}, queue.ChangedSpec,
			queue.Recording(&r.backlog, func(ctx context.Context,
				c *v1alpha1.ClusterLoadBalancerClass) []lb.Key {
				return r.onParameters(ctx, v1alpha1.KindClusterLoadBalancerClass, c)
			})),
		queue.Optional(queue.Watch(from, &alb.IngressClassParams{}, queue.ChangedSpec,
			queue.Recording(&r.backlog, func(ctx context.Context, p *alb.IngressClassParams) []lb.Key {
				return r.onParameters(ctx, cluster.KindIngressClassParams, p)
			})), r.Optional.Served(cluster.KindIngressClassParams)),
		queue.Watch(from, &corev1.Namespace{}, queue.ChangedLabels, queue.Recording(&r.backlog, r.onNamespace)),
		queue.Watch(from, &v1alpha1.Backend{}, queue.ChangedSpec,
			queue.Recording(&r.backlog, onNamed[*v1alpha1.Backend](r, cluster.KindBackend))),
		queue.Watch(from, &corev1.Service{}, cluster.ChangedService,
			queue.Recording(&r.backlog, onNamed[*corev1.Service](r, cluster.KindService))),
		queue.Watch(from, records.Metadata(), queue.ChangedVersion,
			queue.Recording(&r.backlog, r.onReport)),
		source.TypedChannel(r.wake, &handler.TypedFuncs[lb.Key, lb.Key]{GenericFunc: queue.EnqueueItself[lb.Key]}),
		source.TypedFunc[lb.Key](r.enqueueRemembered),
	}
	if r.ReadOnly {
		all = append(all, queue.Watch(from, &v1alpha1.LoadBalancer{}, queue.ChangedVersion, r.onWorker))
	}
	if r.Secrets.Mode != cluster.SecretsNone {
		all = append(all, queue.Watch(from, cluster.SecretMetadata(), queue.ChangedVersion,
			queue.Recording(&r.backlog, onNamed[*metav1.PartialObjectMetadata](r, cluster.KindSecret))))
	}
	return all
}

// enqueueRemembered enqueues every load balancer that has a record: its Ingresses may have been
// deleted. A failed read of records is repeated, since a source that fails would end the operator.
func (r *Reconciler) enqueueRemembered(ctx context.Context, q queue.Queue[lb.Key]) error {
	go func() {
		for wait := queue.FirstRetry; ; wait = min(2*wait, queue.LastRetry) {
			err := r.Records.Ready(ctx)
			if err == nil {
				break
			}
			log.FromContext(ctx).Error(err, "the records of load balancers could not be read", "again",
				wait.String())
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
		}
		for _, key := range r.Records.Keys() {
			q.Add(key)
		}
	}()
	return nil
}

// onReport returns the load balancer of a LoadBalancer object that another writer has changed: it
// may have been paused, or its pause may have ended. It also returns the one whose record of what is taken over has
// changed.
func (r *Reconciler) onReport(_ context.Context, o *metav1.PartialObjectMetadata) []lb.Key {
	if key, ok := r.Adoptions.KeyOfAdoption(o); ok {
		return []lb.Key{key}
	}
	if key, ok := r.Records.Store.KeyOfChanged(o); ok {
		return []lb.Key{key}
	}
	return nil
}

// onIngress returns the load balancers to which an Ingress belongs or belonged, and those that
// refuse it.
func (r *Reconciler) onIngress(ctx context.Context, ing *networkingv1.Ingress) []lb.Key {
	ref := cluster.RefOf(cluster.KindIngress, ing)
	place, keys, err := r.place(ctx, ref, ing)
	if err != nil {
		log.FromContext(ctx).Error(err, "finding the load balancer of an Ingress", "ingress",
			client.ObjectKeyFromObject(ing))
	}
	if place.NeedsRoom && !r.ReadOnly {
		r.enqueueUnassigned(ctx, []string{ref.String()}) // it may have found room a moment before
	}
	return keys
}

// onClass returns the load balancers of a class, and those that Ingresses join or leave because of
// it.
func (r *Reconciler) onClass(ctx context.Context, c *networkingv1.IngressClass) []lb.Key {
	return r.onClasses(ctx, cluster.RefOf(cluster.KindIngressClass, c), []string{c.Name})
}

// onParameters returns the load balancers of the classes that refer to an object.
func (r *Reconciler) onParameters(ctx context.Context, kind string, o client.Object) []lb.Key {
	changed := cluster.RefOf(kind, o)
	names, err := r.ClassesOf(ctx, changed)
	if err != nil {
		log.FromContext(ctx).Error(err, "finding the classes of parameters", "kind", kind, "name",
			o.GetName())
	}
	return r.onClasses(ctx, changed, names)
}

// onClasses returns the load balancers that depend on classes, or on an object to which these
// refer. It may return a key twice, which a queue has once.
func (r *Reconciler) onClasses(ctx context.Context, changed cluster.Ref, names []string) []lb.Key {
	among := func(k lb.Key) bool { return slices.Contains(names, k.Class()) }
	affected, err := r.placer.Affected(ctx, changed, names)
	if err != nil {
		log.FromContext(ctx).Error(err, "finding the Ingresses of classes", "classes", names)
	}
	var keys []lb.Key
	for _, ing := range affected {
		before := r.Directory.DependentsOf(cluster.RefOf(cluster.KindIngress, ing))
		after := r.onIngress(ctx, ing)
		if !slices.Equal(before, after) || slices.ContainsFunc(after, among) {
			keys = append(keys, after...)
		}
	}
	for _, k := range r.Records.Keys() {
		// Without members the class decides whether it is kept.
		if among(k) && len(r.Directory.MembersOf(k)) == 0 {
			keys = append(keys, k)
		}
	}
	return keys
}

// onNamespace returns the load balancers of the Ingresses in a namespace.
func (r *Reconciler) onNamespace(ctx context.Context, n *corev1.Namespace) []lb.Key {
	affected, err := r.placer.AffectedIn(ctx, n)
	if err != nil {
		log.FromContext(ctx).Error(err, "finding the Ingresses of a namespace", "namespace", n.Name)
	}
	var keys []lb.Key
	for _, ing := range affected {
		keys = append(keys, r.onIngress(ctx, ing)...)
	}
	return keys
}

// onNamed returns the load balancers that depend on an object by its name.
func onNamed[T client.Object](r *Reconciler, kind string) func(context.Context, T) []lb.Key {
	return func(_ context.Context, o T) []lb.Key {
		return r.Directory.DependentsOf(cluster.RefOf(kind, o))
	}
}

// onWorker returns the load balancer of a record that the operator that carries plans out has
// changed: an operator that only plans reads it.
func (r *Reconciler) onWorker(ctx context.Context, o *v1alpha1.LoadBalancer) []lb.Key {
	if scope, is := o.Labels[records.ScopeLabel]; !is || scope != r.Scope || records.IsPlanned(o) {
		return nil
	}
	now, err := cluster.Get[v1alpha1.LoadBalancer](ctx, r.Cache,
		cluster.RefOf(v1alpha1.KindLoadBalancer, o))
	if err != nil {
		return nil // the cache stops
	}
	var known v1alpha1.Memory // empty if the record was deleted
	if now != nil {
		records.Expand(ctx, now)
		known = now.Status.Memory
	}
	if key := lb.Key(o.Spec.Key); r.Records.Follow(key, known) {
		return []lb.Key{key}
	}
	return nil
}
