package controllers

import (
	"context"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/controllers/adoption"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
)

// This file begins a pass early: once people have replaced a class, and once what the other controller made is put back.

// gathered is how long changes are gathered before a pass.
const gathered = time.Second

// watch sends to wake after each change that can matter. The cluster may get the kind of bindings later.
func (a *Adopter) watch(ctx context.Context, wake chan<- struct{}) {
	if a.Informers == nil {
		return
	}
	poke := func() {
		select {
		case wake <- struct{}{}:
		default: // a pass is due already
		}
	}
	on(ctx, a.Informers, &networkingv1.IngressClass{}, func(_, _ any) { poke() })
	on(ctx, a.Informers, &networkingv1.Ingress{}, func(before, after any) {
		if hasTheirFinalizer(after) && !hasTheirFinalizer(before) {
			poke()
		}
	})
	if served := a.Optional.Served(cluster.KindTargetGroupBinding); served != nil {
		select {
		case <-served:
		case <-ctx.Done():
			return
		}
	}
	on(ctx, a.Informers, &alb.TargetGroupBinding{}, func(before, after any) {
		if b, is := after.(*alb.TargetGroupBinding); is && before == nil && adoption.StackOf(b.Labels) != "" {
			poke()
		}
	})
}

// hasTheirFinalizer reports whether an object is an Ingress with a finalizer of the other controller.
func hasTheirFinalizer(o any) bool {
	ing, is := o.(*networkingv1.Ingress)
	return is && adoption.HasFinalizer(ing)
}

// on calls a function when an object of a kind is created, with nil before, or changes, until the context ends. Passes find
// what it misses within a minute.
func on(ctx context.Context, from cache.Informers, kind client.Object, do func(before, after any)) {
	informer, err := from.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		log.FromContext(ctx).Error(err, "watching what is to be taken over")
		return
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { do(nil, o) },
		UpdateFunc: do,
	})
	if err != nil {
		log.FromContext(ctx).Error(err, "watching what is to be taken over")
		return
	}
	context.AfterFunc(ctx, func() { _ = informer.RemoveEventHandler(registration) })
}
