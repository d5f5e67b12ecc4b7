package controllers

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/endpoints"
)

// This file turns a change of an object into the keys of the load balancers that depend on it. A
// change of anything else enqueues nothing.

// sources are what the reconciler of load balancers is woken by.
func (r *reconciler) sources(from cache.Cache) []source.TypedSource[lb.Key] {
	all := []source.TypedSource[lb.Key]{
		queue.Watch(from, &networkingv1.Ingress{}, r.asksForMore, queue.Recording(&r.backlog, r.onIngress)),
		queue.Watch(from, &networkingv1.IngressClass{}, queue.ChangedSpec, queue.Recording(&r.backlog, func(ctx context.Context, c *networkingv1.IngressClass) []lb.Key {
			return r.onClasses(ctx, []string{c.Name})
		})),
		queue.Watch(from, &v1alpha1.LoadBalancerClass{}, queue.ChangedSpec, queue.Recording(&r.backlog, func(ctx context.Context, c *v1alpha1.LoadBalancerClass) []lb.Key {
			return r.onParameters(ctx, v1alpha1.KindLoadBalancerClass, c)
		})),
		queue.Watch(from, &v1alpha1.ClusterLoadBalancerClass{}, queue.ChangedSpec, queue.Recording(&r.backlog, func(ctx context.Context, c *v1alpha1.ClusterLoadBalancerClass) []lb.Key {
			return r.onParameters(ctx, v1alpha1.KindClusterLoadBalancerClass, c)
		})),
		queue.Watch(from, &corev1.Namespace{}, queue.ChangedLabels, queue.Recording(&r.backlog, r.onNamespace)),
		queue.Watch(from, &v1alpha1.Backend{}, queue.ChangedSpec, queue.Recording(&r.backlog, onNamed[*v1alpha1.Backend](r, cluster.KindBackend))),
		queue.Watch(from, &corev1.Service{}, changedService, queue.Recording(&r.backlog, onNamed[*corev1.Service](r, cluster.KindService))),
		queue.Watch(from, cluster.ReportMetadata(), queue.ChangedAtAll, queue.Recording(&r.backlog, r.onReport)),
		source.TypedChannel(r.wake, &handler.TypedFuncs[lb.Key, lb.Key]{GenericFunc: queue.EnqueueItself[lb.Key]}),
		source.TypedFunc[lb.Key](r.enqueueRemembered),
	}
	if r.readOnly {
		all = append(all, queue.Watch(from, &v1alpha1.LoadBalancer{}, queue.ChangedAtAll, r.onWorker))
	}
	if r.secrets.Mode != cluster.SecretsNone {
		all = append(all, queue.Watch(from, cluster.SecretMetadata(), queue.ChangedAtAll, queue.Recording(&r.backlog, onNamed[*metav1.PartialObjectMetadata](r, cluster.KindSecret))))
	}
	return all
}

// sources are what the registrar of targets is woken by.
func (r *registrar) sources(from cache.Cache) []source.TypedSource[lb.GroupKey] {
	return []source.TypedSource[lb.GroupKey]{
		queue.Watch(from, &discoveryv1.EndpointSlice{}, queue.ChangedAtAll, queue.Recording(r.backlog, func(_ context.Context, s *discoveryv1.EndpointSlice) []lb.GroupKey {
			return r.book.of(cluster.RefTo(cluster.KindService, s.Namespace, s.Labels[discoveryv1.LabelServiceName]))
		})),
		queue.Watch(from, &corev1.Service{}, changedPorts, queue.Recording(r.backlog, func(_ context.Context, s *corev1.Service) []lb.GroupKey {
			return r.book.of(cluster.RefOf(cluster.KindService, s))
		})),
		r.watchNodes(from),
		r.watchPods(from),
		source.TypedChannel(r.book.wake, &handler.TypedFuncs[lb.GroupKey, lb.GroupKey]{GenericFunc: queue.EnqueueItself[lb.GroupKey]}),
	}
}

// enqueueRemembered wakes every load balancer that is remembered: its Ingresses may have gone while
// nobody was looking. Records that cannot be read are read again; a source that fails would end the
// operator.
func (r *reconciler) enqueueRemembered(ctx context.Context, q queue.Queue[lb.Key]) error {
	go func() {
		for wait := queue.FirstRetry; ; wait = min(2*wait, queue.LastRetry) {
			err := r.memories.Ready(ctx)
			if err == nil {
				break
			}
			log.FromContext(ctx).Error(err, "the records of load balancers could not be read", "again", wait.String())
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
		}
		for _, key := range r.memories.Keys() {
			q.Add(key)
		}
	}()
	return nil
}

// onReport leads to the load balancer of a report that somebody else has written to: it may be
// paused from now on, or not any more.
func (r *reconciler) onReport(_ context.Context, o *metav1.PartialObjectMetadata) []lb.Key {
	if key, ok := r.memories.Keeper.KeyOfChanged(o); ok {
		return []lb.Key{key}
	}
	return nil
}

// onIngress leads to where an Ingress belongs, to where it did, and to where it is refused.
func (r *reconciler) onIngress(ctx context.Context, ing *networkingv1.Ingress) []lb.Key {
	place, err := r.placeOf(ctx, ing)
	if err != nil {
		log.FromContext(ctx).Error(err, "finding the load balancer of an Ingress", "ingress", client.ObjectKeyFromObject(ing))
	}
	return r.directory.Place(cluster.RefOf(cluster.KindIngress, ing), slices.Concat(place.homes, place.refusedAt))
}

// onClasses leads to the load balancers of some classes, and to those that Ingresses come to or go
// from because of them.
func (r *reconciler) onClasses(ctx context.Context, names []string) []lb.Key {
	among := func(k lb.Key) bool {
		return slices.Contains(names, k.Class())
	}
	keys := r.onIngresses(ctx, func(before, after []lb.Key) bool {
		return !slices.Equal(before, after) || slices.ContainsFunc(after, among)
	})
	for _, k := range r.memories.Keys() {
		if among(k) && len(r.directory.MembersOf(k)) == 0 { // its class alone keeps it
			keys = append(keys, k)
		}
	}
	return keys
}

// onParameters leads to what the classes lead to that refer to an object.
func (r *reconciler) onParameters(ctx context.Context, kind string, o client.Object) []lb.Key {
	objects, err := r.classes(ctx)
	if err != nil {
		log.FromContext(ctx).Error(err, "finding the classes of parameters", "kind", kind, "name", o.GetName())
		return nil
	}
	var names []string
	for _, c := range objects.IngressClasses {
		if p := c.Spec.Parameters; p != nil && p.Kind == kind && p.Name == o.GetName() {
			names = append(names, c.Name)
		}
	}
	if names == nil {
		return nil
	}
	return r.onClasses(ctx, names)
}

// onNamespace leads to the load balancers of its Ingresses.
func (r *reconciler) onNamespace(ctx context.Context, n *corev1.Namespace) []lb.Key {
	return r.onIngresses(ctx, func(_, _ []lb.Key) bool { return true }, client.InNamespace(n.Name))
}

// onIngresses places Ingresses anew and leads to the load balancers of those that matter.
func (r *reconciler) onIngresses(ctx context.Context, matters func(before, after []lb.Key) bool, which ...client.ListOption) []lb.Key {
	var list networkingv1.IngressList // read, and not changed
	if err := r.cache.List(ctx, &list, append(which, client.UnsafeDisableDeepCopy)...); err != nil {
		log.FromContext(ctx).Error(err, "listing Ingresses")
		return nil
	}
	var out []lb.Key
	for i := range list.Items {
		before := r.directory.On(cluster.RefOf(cluster.KindIngress, &list.Items[i]))
		if after := r.onIngress(ctx, &list.Items[i]); matters(before, after) {
			out = append(out, after...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// onNamed leads to what depends on an object by its name.
func onNamed[T client.Object](r *reconciler, kind string) func(context.Context, T) []lb.Key {
	return func(_ context.Context, o T) []lb.Key { return r.directory.On(cluster.RefOf(kind, o)) }
}

// asksForMore, for Ingresses: what Fairlead reads of it changed, an annotation of another
// controller did that its owner is told about, or it is about to go. Its status and the marks of
// others are no reason.
func asksForMore(before, after client.Object) bool {
	return before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
		before.GetGeneration() != after.GetGeneration() || !maps.Equal(heeded(before), heeded(after))
}

// heeded are the annotations of an Ingress or a Service that matter.
func heeded(o client.Object) map[string]string {
	out := maps.Clone(o.GetAnnotations())
	maps.DeleteFunc(out, func(key, _ string) bool { return !ingress.Heeds(key) })
	return out
}

// changedService reports whether a Service changed in a way that Ingresses have to know of.
func changedService(before, after client.Object) bool {
	return changedPorts(before, after) || !maps.Equal(heeded(before), heeded(after))
}

// changedPorts, for Services, which the API server gives no generation.
func changedPorts(before, after client.Object) bool {
	return !equality.Semantic.DeepEqual(before.(*corev1.Service).Spec, after.(*corev1.Service).Spec)
}

// watchPods wakes the target groups of a Pod that may be a target from now on, or may not any more,
// by its address or though it is not ready: its endpoints do not change for that.
func (r *registrar) watchPods(from cache.Cache) source.TypedSource[lb.GroupKey] {
	return queue.Watch(from, &corev1.Pod{}, func(before, after client.Object) bool {
		was, is := before.(*corev1.Pod), after.(*corev1.Pod)
		return endpoints.WaitsForGate(was) != endpoints.WaitsForGate(is) || endpoints.Ended(was) != endpoints.Ended(is) ||
			was.UID != is.UID || !slices.Equal(was.Status.PodIPs, is.Status.PodIPs)
	}, queue.Recording(r.backlog, func(ctx context.Context, pod *corev1.Pod) []lb.GroupKey {
		services, err := r.pods.ServicesListing(ctx, pod)
		if err != nil {
			return nil // the cache is being stopped
		}
		var out []lb.GroupKey
		for s := range services {
			out = append(out, r.book.of(s)...)
		}
		return out
	}))
}

// watchNodes wakes the target groups that have Nodes for targets, from when there is one.
func (r *registrar) watchNodes(from cache.Cache) source.TypedSource[lb.GroupKey] {
	nodes := queue.Watch(from, &corev1.Node{}, cluster.ChangedAddresses, queue.Recording(r.backlog, func(context.Context, *corev1.Node) []lb.GroupKey { return r.book.onInstances() }))
	return source.TypedFunc[lb.GroupKey](func(ctx context.Context, q queue.Queue[lb.GroupKey]) error {
		go func() {
			select {
			case <-r.book.instances:
			case <-ctx.Done():
				return
			}
			if err := nodes.Start(ctx, q); err != nil {
				log.FromContext(ctx).Error(err, "watching Nodes")
			}
		}()
		return nil
	})
}
