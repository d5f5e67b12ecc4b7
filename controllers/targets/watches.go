package targets

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/lb"
)

// This file turns a change of an object into the target groups that depend on it.

// Sources returns the watches of the reconciler.
func (r *Reconciler) Sources(from cache.Cache) []source.TypedSource[lb.GroupKey] {
	return []source.TypedSource[lb.GroupKey]{
		queue.Watch(from, &discoveryv1.EndpointSlice{}, queue.ChangedVersion,
			queue.Recording(r.Backlog, func(_ context.Context, s *discoveryv1.EndpointSlice) []lb.GroupKey {
				return r.Book.groupsOf(cluster.RefTo(cluster.KindService, s.Namespace,
					s.Labels[discoveryv1.LabelServiceName]))
			})),
		queue.Watch(from, &corev1.Service{}, cluster.ChangedServiceSpec,
			queue.Recording(r.Backlog, func(_ context.Context, s *corev1.Service) []lb.GroupKey {
				return r.Book.groupsOf(cluster.RefOf(cluster.KindService, s))
			})),
		r.watchNodes(from),
		r.watchPods(from),
		source.TypedChannel(r.Book.wake,
			&handler.TypedFuncs[lb.GroupKey, lb.GroupKey]{GenericFunc: queue.EnqueueItself[lb.GroupKey]}),
	}
}

// watchPods watches Pods: a new address, an open readiness gate or the end of a Pod changes the
// targets, and no EndpointSlice.
func (r *Reconciler) watchPods(from cache.Cache) source.TypedSource[lb.GroupKey] {
	return queue.Watch[client.Object](from, &corev1.Pod{}, func(before, after client.Object) bool {
		was, is := cluster.PodIn(before), cluster.PodIn(after)
		return endpoints.WaitsForGate(was) != endpoints.WaitsForGate(is) ||
			endpoints.Ended(was) != endpoints.Ended(is) ||
			was.UID != is.UID || !slices.Equal(was.Status.PodIPs, is.Status.PodIPs)
	}, queue.Recording(r.Backlog, func(ctx context.Context, pod client.Object) []lb.GroupKey {
		services, err := r.Pods.ServicesListing(ctx, pod)
		if err != nil {
			return nil // the cache stops
		}
		var out []lb.GroupKey
		for s := range services {
			out = append(out, r.Book.groupsOf(s)...)
		}
		return out
	}))
}

// watchNodes watches Nodes as soon as a target group has Nodes as targets.
func (r *Reconciler) watchNodes(from cache.Cache) source.TypedSource[lb.GroupKey] {
	nodes := queue.Watch(from, &corev1.Node{}, cluster.ChangedNode,
		queue.Recording(r.Backlog, func(context.Context, *corev1.Node) []lb.GroupKey {
			return r.Book.onInstances()
		}))
	return source.TypedFunc[lb.GroupKey](func(ctx context.Context, q queue.Queue[lb.GroupKey]) error {
		go func() {
			select {
			case <-r.Book.instances:
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
