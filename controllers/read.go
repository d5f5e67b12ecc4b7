package controllers

import (
	"context"
	"fmt"

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

// get reads one object; nil if there is none.
func get[T any, P object[T]](ctx context.Context, from client.Reader, r ref) (P, error) {
	found := P(new(T))
	err := from.Get(ctx, types.NamespacedName{Namespace: r.namespace, Name: r.name}, found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", r.kind, r, err)
	}
	return found, nil
}

// readAll adds to objects those of refs that exist.
func readAll[T any, P object[T]](ctx context.Context, from client.Reader, refs map[ref]bool, objects []P) ([]P, error) {
	for r := range refs {
		found, err := get[T, P](ctx, from, r)
		if err != nil {
			return nil, err
		}
		if found != nil {
			objects = append(objects, found)
		}
	}
	return objects, nil
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}
