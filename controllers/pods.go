package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/fairlead/model/ingress"
)

// This file reads Pods and watches them, both only where readiness gates are kept. There are many, they
// change all the time, and of those that declare no gate of ours nothing is kept but the name.

// A podReader reads Pods from a cache. The zero value reads none: there are no gates to keep.
type podReader struct{ cache client.Reader }

// behind are the Pods of endpoints that are not ready.
func (r podReader) behind(ctx context.Context, endpoints []*discoveryv1.EndpointSlice) ([]*corev1.Pod, error) {
	if r.cache == nil {
		return nil, nil
	}
	refs := map[ref]bool{}
	for _, s := range endpoints {
		for _, e := range s.Endpoints {
			if ingress.IsUnready(e) && e.TargetRef != nil && e.TargetRef.Kind == kindPod {
				refs[ref{kindPod, s.Namespace, e.TargetRef.Name}] = true
			}
		}
	}
	return readAll[corev1.Pod](ctx, r.cache, refs, nil)
}

// services are those that a Pod stands behind: by EndpointSlices, whoever wrote them, and by selectors,
// from which its endpoint may be yet to be written.
func (r podReader) services(ctx context.Context, pod *corev1.Pod) ([]ref, error) {
	out, err := r.listing(ctx, pod)
	if err != nil {
		return nil, err
	}
	var services corev1.ServiceList
	if err := r.cache.List(ctx, &services, client.InNamespace(pod.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Services of %s: %w", pod.Namespace, err)
	}
	for i := range services.Items {
		s := &services.Items[i]
		if len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			out[refOf(kindService, s)] = true
		}
	}
	return slices.Collect(maps.Keys(out)), nil
}

// listing are the Services whose EndpointSlices list a Pod.
func (r podReader) listing(ctx context.Context, pod *corev1.Pod) (map[ref]bool, error) {
	var list discoveryv1.EndpointSliceList
	err := r.cache.List(ctx, &list, client.InNamespace(pod.Namespace), client.MatchingFields{slicePods: pod.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing EndpointSlices of Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	out := map[ref]bool{}
	for i := range list.Items {
		out[ref{kindService, pod.Namespace, list.Items[i].Labels[discoveryv1.LabelServiceName]}] = true
	}
	return out, nil
}

// slicePods is the index of EndpointSlices by the names of their Pods.
const slicePods = "pods"

func podsOfSlice(o client.Object) []string {
	var out []string
	for _, e := range o.(*discoveryv1.EndpointSlice).Endpoints {
		if e.TargetRef != nil && e.TargetRef.Kind == kindPod {
			out = append(out, e.TargetRef.Name)
		}
	}
	return out
}

// watchPods wakes the target groups of a Pod that may become a target though it is not ready, or may not
// any more: its endpoints do not change for that.
func (r *registrar) watchPods(from cache.Cache) source.TypedSource[groupKey] {
	return watch(from, &corev1.Pod{}, func(before, after client.Object) bool {
		return ingress.Knocks(before.(*corev1.Pod)) != ingress.Knocks(after.(*corev1.Pod))
	}, func(ctx context.Context, pod *corev1.Pod) []groupKey {
		if !ingress.Gated(pod) {
			return nil
		}
		services, err := r.pods.listing(ctx, pod)
		if err != nil {
			return nil // the cache is being stopped
		}
		var out []groupKey
		for s := range services {
			out = append(out, r.book.of(s)...)
		}
		return out
	})
}

// slimPod keeps what is read of a Pod that declares our gate, and the name of any other.
func slimPod(o any) (any, error) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil // the mark of one that was deleted
	}
	slim := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion}}
	if ingress.Gated(p) {
		slim.DeletionTimestamp, slim.Labels = p.DeletionTimestamp, p.Labels
		slim.Spec.ReadinessGates = p.Spec.ReadinessGates
		slim.Status = corev1.PodStatus{Conditions: p.Status.Conditions, PodIPs: p.Status.PodIPs}
	}
	return slim, nil
}
