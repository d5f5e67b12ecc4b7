package controllers

import (
	"context"
	"fmt"

	"fairlead.dev/fairlead/model/endpoints"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file reads the EndpointSlices of Services, and which Services and Pods they are about.

// endpointsOf are the EndpointSlices of a Service.
func endpointsOf(ctx context.Context, from client.Reader, service ref) ([]*discoveryv1.EndpointSlice, error) {
	var list discoveryv1.EndpointSliceList
	err := from.List(ctx, &list, client.InNamespace(service.namespace), client.MatchingFields{sliceService: service.name})
	if err != nil {
		return nil, fmt.Errorf("listing EndpointSlices of Service %s: %w", service, err)
	}
	return pointers(list.Items), nil
}

// sliceService is the index of EndpointSlices by the name of their Service.
const sliceService = "service"

func serviceOfSlice(o client.Object) []string {
	if name := o.GetLabels()[discoveryv1.LabelServiceName]; name != "" {
		return []string{name}
	}
	return nil
}

// slicePods is the index of EndpointSlices by the names of their Pods.
const slicePods = "pods"

func podsOfSlice(o client.Object) []string {
	var out []string
	for _, e := range o.(*discoveryv1.EndpointSlice).Endpoints {
		if pod := endpoints.PodOf(o.(*discoveryv1.EndpointSlice), e); pod != "" {
			out = append(out, pod)
		}
	}
	return out
}
