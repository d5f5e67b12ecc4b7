package scale

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/controllers/cluster"
	ingresswriter "fairlead.dev/fairlead/controllers/ingresses"
)

// This file measures the caches and the two writes of each Ingress alone: no operator that watches
// these objects, holds each Ingress by a finalizer, and publishes an address on it, takes less.

// atATime is how many Ingresses are written at a time: four load balancers with eight each.
const atATime = 32

// measureAlone fills caches as the operator has them, adds the finalizer to each Ingress, and then
// publishes an address on it. Nothing is compiled, planned or recorded.
func (r row) measureAlone(t *testing.T) {
	s := newServer(t)
	f := newFleet(t, s, r.ingresses, r.groups, r.classes)
	f.populate(t)
	config := rest.CopyConfig(s.Config)
	config.QPS = -1
	began, worked := time.Now(), ownTime(t)
	watched := watch(t, config)
	c, err := client.New(config, client.Options{Scheme: cluster.NewScheme(), Cache: &client.CacheOptions{Reader: watched}})
	if err != nil {
		t.Fatal(err)
	}
	w := ingresswriter.NewWriter(c)
	all := r.list(t, c)
	each(t, all, w.AddFinalizer)
	r.awaitAll(t, c, func(ing *networkingv1.Ingress) bool { return len(ing.Finalizers) > 0 })
	all = r.list(t, c)
	each(t, all, func(ctx context.Context, ing *networkingv1.Ingress) error {
		return w.Publish(ctx, ing, []networkingv1.IngressLoadBalancerIngress{{Hostname: "lb.example.com"}})
	})
	r.awaitAll(t, c, func(ing *networkingv1.Ingress) bool { return len(ing.Status.LoadBalancer.Ingress) > 0 })
	t.Logf("%s, caches and two writes of each Ingress alone: %.1f s, %.1f s of CPU",
		r, time.Since(began).Seconds(), (ownTime(t) - worked).Seconds())
}

// watch returns caches of the objects of which there are many.
func watch(t *testing.T, config *rest.Config) cache.Cache {
	t.Helper()
	o := cluster.Cache(cluster.SecretsAll, "")
	o.Scheme = cluster.NewScheme()
	caches, err := cache.New(config, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []client.Object{&networkingv1.Ingress{}, &corev1.Service{}, &discoveryv1.EndpointSlice{}, &corev1.Pod{}} {
		if _, err := caches.GetInformer(t.Context(), o, cache.BlockUntilSynced(false)); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		if err := caches.Start(t.Context()); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("watching: %s", err)
		}
	}()
	if !caches.WaitForCacheSync(t.Context()) {
		t.Fatal("the caches are not filled")
	}
	return caches
}

// list returns all Ingresses of the cache.
func (r row) list(t *testing.T, c client.Reader) []networkingv1.Ingress {
	t.Helper()
	var list networkingv1.IngressList
	if err := c.List(t.Context(), &list, client.UnsafeDisableDeepCopy); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != r.ingresses {
		t.Fatalf("the cache has %d Ingresses of %d", len(list.Items), r.ingresses)
	}
	return list.Items
}

// awaitAll waits until the cache has seen something of all Ingresses.
func (r row) awaitAll(t *testing.T, c client.Reader, seen func(*networkingv1.Ingress) bool) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Second / 2) {
		left, all := 0, r.list(t, c)
		for i := range all {
			if !seen(&all[i]) {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Since(began) > patience {
			t.Fatalf("the cache has not seen what was written of %d Ingresses", left)
		}
	}
}

// each writes on all Ingresses.
func each(t *testing.T, all []networkingv1.Ingress, write func(context.Context, *networkingv1.Ingress) error) {
	t.Helper()
	var writes errgroup.Group
	writes.SetLimit(atATime)
	for i := range all {
		writes.Go(func() error { return write(t.Context(), &all[i]) })
	}
	if err := writes.Wait(); err != nil {
		t.Fatal(err)
	}
}

// ownTime returns the processor time of this process.
func ownTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
