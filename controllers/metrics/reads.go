package metrics

import (
	"context"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file counts the objects that the operator reads from its caches: its work grows with them.

// Reads counts the objects that are read. It is scraped with the operator's metrics.
type Reads struct{ objects atomic.Int64 }

// Total returns the number of objects that were read.
func (r *Reads) Total() int64 { return r.objects.Load() }

// NewClient makes the client of a manager, which counts the objects that are read with it.
func (r *Reads) NewClient(config *rest.Config, o client.Options) (client.Client, error) {
	c, err := client.New(config, o)
	return countedClient{c, r}, err
}

// countedClient counts each object that is looked up, and each that is in a list.
type countedClient struct {
	client.Client
	reads *Reads
}

func (c countedClient) Get(
	ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption,
) error {
	c.reads.objects.Add(1)
	return c.Client.Get(ctx, key, into, opts...)
}

func (c countedClient) List(
	ctx context.Context, list client.ObjectList, opts ...client.ListOption,
) error {
	err := c.Client.List(ctx, list, opts...)
	c.reads.objects.Add(int64(meta.LenList(list)))
	return err
}
