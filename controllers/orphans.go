package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
)

// This file collects load balancers that nobody asks for and nobody remembers: what a crash or a
// lost record left behind. It takes two passes to believe it, and a class that can be used: where
// that is missing, its Ingresses may only have become unreadable.

// A collector looks for orphans. It runs while this replica is the leader.
type collector struct {
	*reconciler
	every time.Duration
	scope string // the only namespace to look after, or ""
}

// Start looks until the context ends.
func (c *collector) Start(ctx context.Context) error {
	tick := time.NewTicker(c.every)
	defer tick.Stop()
	var suspects []lb.Key
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		found, err := c.orphans(ctx)
		if err != nil {
			log.FromContext(ctx).Error(err, "looking for orphans")
			continue
		}
		c.tally.looked(len(found))
		c.awaken(ctx, twice(found, suspects))
		suspects = found
	}
}

// twice are the keys of one pass that the pass before found too.
func twice(found, before []lb.Key) []lb.Key {
	return slices.DeleteFunc(slices.Clone(found), func(k lb.Key) bool { return !slices.Contains(before, k) })
}

// orphans are the keys that the cloud has and that nothing here stands for.
func (c *collector) orphans(ctx context.Context) ([]lb.Key, error) {
	keys, err := c.cloud.List(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.memories.ready(ctx); err != nil {
		return nil, err
	}
	objects, err := c.classes(ctx)
	if err != nil {
		return nil, err
	}
	usable := map[string]bool{}
	for _, class := range objects.IngressClasses {
		usable[class.Name] = class.Spec.Controller == ingress.Controller
	}
	if lost, err := c.lost(ctx); err != nil || lost {
		return nil, err
	}
	remembered := c.memories.keys()
	return slices.DeleteFunc(keys, func(k lb.Key) bool {
		class, rest, _ := strings.Cut(string(k), "/")
		namespace, _, _ := strings.Cut(rest, "/")
		elsewhere := c.scope != "" && namespace != c.scope
		return elsewhere || !usable[class] || slices.Contains(remembered, k) || len(c.directory.membersOf(k)) > 0
	}), nil
}

// lost reports whether there is an Ingress with our finalizer that belongs nowhere: one that is
// refused, of which no good version is remembered. What serves it looks just like an orphan.
func (c *collector) lost(ctx context.Context) (bool, error) {
	var list networkingv1.IngressList
	if err := c.cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing Ingresses: %w", err)
	}
	return slices.ContainsFunc(list.Items, func(i networkingv1.Ingress) bool {
		return controllerutil.ContainsFinalizer(&i, finalizer) && len(c.directory.on(refOf(kindIngress, &i))) == 0
	}), nil
}
