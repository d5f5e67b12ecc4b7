package cluster

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// This file has the cluster in memory on which reading is tested.

// clusterOf returns a client of a cluster that has some objects, with the indexes of the cache.
func clusterOf(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	b := fake.NewClientBuilder().WithScheme(NewScheme()).WithObjects(objects...)
	for _, i := range Indexes() {
		b = b.WithIndex(i.Of, i.Field, i.Values)
	}
	return b.Build()
}

var errUnavailable = errors.New("the API server is unavailable")

// unavailable is a reader that fails.
type unavailable struct{}

func (unavailable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errUnavailable
}

func (unavailable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errUnavailable
}
