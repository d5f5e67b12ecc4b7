package controllertest

import (
	"context"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// This file has reads of a cluster that fail.

// FailingList makes each list of a kind fail.
func FailingList(kind client.ObjectList, with error) interceptor.Funcs {
	return interceptor.Funcs{List: func(
		ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption,
	) error {
		if reflect.TypeOf(list) == reflect.TypeOf(kind) {
			return with
		}
		return c.List(ctx, list, opts...)
	}}
}

// FailingGet makes each read of one object of a kind fail.
func FailingGet(kind client.Object, with error) interceptor.Funcs {
	return interceptor.Funcs{Get: func(
		ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
		opts ...client.GetOption,
	) error {
		if reflect.TypeOf(o) == reflect.TypeOf(kind) {
			return with
		}
		return c.Get(ctx, key, o, opts...)
	}}
}
