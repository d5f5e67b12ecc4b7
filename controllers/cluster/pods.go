package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/endpoints"
)

// This file reads Pods.

// PodReader reads Pods from a cache.
type PodReader struct {
	cache client.Reader
	gates bool // whether readiness gates are kept
	*unseen
}

func NewPodReader(cache client.Reader, gates bool) PodReader {
	return PodReader{cache, gates, newUnseen()}
}

// PodsOf returns the Pods of endpoints, and the claims whose Pods the cache may not have yet.
func (r PodReader) PodsOf(ctx context.Context,
	list []*discoveryv1.EndpointSlice) ([]*corev1.Pod, map[endpoints.Claim]bool, error) {
	refs := map[Ref]bool{}
	for _, s := range list {
		for c := range endpoints.Claims(s) {
			refs[Ref{KindPod, c.Namespace, c.Pod}] = true
		}
	}
	pods, err := GetAll[corev1.Pod](ctx, r.cache, refs, nil)
	if err != nil {
		return nil, nil, err
	}
	known := make(map[Ref]*corev1.Pod, len(pods))
	for _, p := range pods {
		if !r.gates {
			p.Spec.ReadinessGates = nil // no gate is opened here
		}
		known[RefOf(KindPod, p)] = p
	}
	awaited := map[endpoints.Claim]bool{}
	now := time.Now()
	for _, s := range list {
		for c, e := range endpoints.Claims(s) {
			p := known[Ref{KindPod, c.Namespace, c.Pod}]
			if r.isRecent(c, p != nil && endpoints.ConfirmsAddress(p, s, e), now) {
				awaited[c] = true
			}
		}
	}
	return pods, awaited, nil
}

// ServicesOf returns the Services of a Pod: those whose EndpointSlices list it, and those whose
// selectors match it, since its endpoint may not be written yet.
func (r PodReader) ServicesOf(ctx context.Context, pod *corev1.Pod) ([]Ref, error) {
	out, err := r.ServicesListing(ctx, pod)
	if err != nil {
		return nil, err
	}
	var services corev1.ServiceList
	if err := r.cache.List(ctx, &services, client.InNamespace(pod.Namespace),
		client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Services of %s: %w", pod.Namespace, err)
	}
	for i := range services.Items {
		s := &services.Items[i]
		if len(s.Spec.Selector) > 0 &&
			labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			out[RefOf(KindService, s)] = true
		}
	}
	return slices.Collect(maps.Keys(out)), nil
}

// ServicesListing returns the Services whose EndpointSlices list a Pod.
func (r PodReader) ServicesListing(ctx context.Context, pod client.Object) (map[Ref]bool, error) {
	namespace, name := pod.GetNamespace(), pod.GetName()
	which := client.MatchingFields{slicePods: familyOf(name)}
	var list discoveryv1.EndpointSliceList
	err := r.cache.List(ctx, &list, client.InNamespace(namespace), which, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing EndpointSlices of Pod %s/%s: %w", namespace, name, err)
	}
	out := map[Ref]bool{}
	for i := range list.Items {
		if s := &list.Items[i]; hasEndpointOf(s, name) {
			out[Ref{KindService, namespace, s.Labels[discoveryv1.LabelServiceName]}] = true
		}
	}
	return out, nil
}
