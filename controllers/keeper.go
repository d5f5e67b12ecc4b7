package controllers

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
)

// This file keeps records in objects of the kind LoadBalancer, one for each.

// scopeLabel tells the records of operators apart that look after a namespace each: one would take
// the load balancers of another for its own, without Ingresses.
const scopeLabel = v1alpha1.Group + "/scope"

// An archive is a keeper that writes to the API server. It knows what it wrote last, so it reads
// only once.
type archive struct {
	reader client.Reader
	writer client.Client
	scope  string // the namespace that the operator looks after, or "" for all

	mu      sync.Mutex
	written map[lb.Key]*v1alpha1.LoadBalancer
}

func (a *archive) load(ctx context.Context) (map[lb.Key]record, error) {
	var list v1alpha1.LoadBalancerList
	if err := a.reader.List(ctx, &list, client.MatchingLabels{scopeLabel: a.scope}); err != nil {
		return nil, fmt.Errorf("listing LoadBalancers: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written = map[lb.Key]*v1alpha1.LoadBalancer{}
	out := map[lb.Key]record{}
	for i := range list.Items {
		o := &list.Items[i]
		key := lb.Key(o.Spec.Key)
		a.written[key], out[key] = o, o.Status
	}
	return out, nil
}

func (a *archive) save(ctx context.Context, key lb.Key, r record) error {
	before := a.last(key)
	if before != nil {
		err := a.patch(ctx, key, before, r)
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	// The first time, or somebody deleted it.
	created := &v1alpha1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Name(string(key), a.scope), Labels: map[string]string{scopeLabel: a.scope}},
		Spec:       v1alpha1.LoadBalancerSpec{Key: string(key)},
	}
	if err := a.writer.Create(ctx, created); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating LoadBalancer %s: %w", created.Name, err)
	}
	created.Status = v1alpha1.LoadBalancerStatus{}
	return a.patch(ctx, key, created, r)
}

func (a *archive) patch(ctx context.Context, key lb.Key, from *v1alpha1.LoadBalancer, r record) error {
	to := from.DeepCopy()
	r.DeepCopyInto(&to.Status)
	if err := a.writer.Status().Patch(ctx, to, client.MergeFrom(from)); err != nil {
		return fmt.Errorf("writing the status of LoadBalancer %s: %w", from.Name, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.written == nil {
		a.written = map[lb.Key]*v1alpha1.LoadBalancer{}
	}
	a.written[key] = to
	return nil
}

func (a *archive) last(key lb.Key) *v1alpha1.LoadBalancer {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.written[key]
}

func (a *archive) drop(ctx context.Context, key lb.Key) error {
	before := a.last(key)
	if before == nil {
		return nil
	}
	if err := a.writer.Delete(ctx, before); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting LoadBalancer %s: %w", before.Name, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.written, key)
	return nil
}
