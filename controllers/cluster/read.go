package cluster

import (
	"context"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file reads objects by name.

// object is a pointer to an API type.
type object[T any] interface {
	*T
	client.Object
}

// Get reads one object. It returns nil if there is none.
func Get[T any, P object[T]](ctx context.Context, from client.Reader, r Ref) (P, error) {
	found := P(new(T))
	err := from.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: r.Name}, found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", r.Kind, r, err)
	}
	return found, nil
}

// GetAll adds the objects of refs that exist to a list.
func GetAll[T any, P object[T]](ctx context.Context, from client.Reader, refs map[Ref]bool,
	objects []P) ([]P, error) {
	for r := range refs {
		found, err := Get[T, P](ctx, from, r)
		if err != nil {
			return nil, err
		}
		if found != nil {
			objects = append(objects, found)
		}
	}
	return objects, nil
}

func Pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}

// EndpointsOf returns the EndpointSlices of a Service.
func EndpointsOf(
	ctx context.Context, from client.Reader, service Ref,
) ([]*discoveryv1.EndpointSlice, error) {
	var list discoveryv1.EndpointSliceList
	which := client.MatchingFields{sliceService: service.Name}
	err := from.List(ctx, &list, client.InNamespace(service.Namespace), which)
	if err != nil {
		return nil, fmt.Errorf("listing EndpointSlices of Service %s: %w", service, err)
	}
	return Pointers(list.Items), nil
}
