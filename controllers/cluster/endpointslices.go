package cluster

import (
	"context"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/endpoints"
)

// This file reads the EndpointSlices of Services, and which Services and Pods they are about.

// EndpointsOf returns the EndpointSlices of a Service.
func EndpointsOf(ctx context.Context, from client.Reader, service Ref) ([]*discoveryv1.EndpointSlice, error) {
	var list discoveryv1.EndpointSliceList
	err := from.List(ctx, &list, client.InNamespace(service.Namespace), client.MatchingFields{SliceService: service.Name})
	if err != nil {
		return nil, fmt.Errorf("listing EndpointSlices of Service %s: %w", service, err)
	}
	return Pointers(list.Items), nil
}

// SliceService names the index of EndpointSlices by the name of their Service.
const SliceService = "service"

func ServiceOfSlice(o client.Object) []string {
	if name := o.GetLabels()[discoveryv1.LabelServiceName]; name != "" {
		return []string{name}
	}
	return nil
}

// SlicePods names the index of EndpointSlices by the names of their Pods.
const SlicePods = "pods"

func PodsOfSlice(o client.Object) []string {
	var out []string
	for _, e := range o.(*discoveryv1.EndpointSlice).Endpoints {
		if pod := endpoints.PodOf(o.(*discoveryv1.EndpointSlice), e); pod != "" {
			out = append(out, pod)
		}
	}
	return out
}
