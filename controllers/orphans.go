package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file collects load balancers that nobody asks for and nobody remembers: what a crash or a
// lost record left behind. It takes two passes to believe it, and a class that can be used: where
// that is missing, its Ingresses may only have become unreadable.

// A collector looks for orphans. It runs while this replica is the leader.
type collector struct {
	*gather.Gatherer
	cloud     providers.Provider
	counters  *counters
	reconcile func(context.Context, []lb.Key)
	every     time.Duration
	scope     string // the only namespace to look after, or ""
	sightings *sightings
}

func newCollector(r *reconciler, every time.Duration, scope string, found *sightings) *collector {
	return &collector{
		Gatherer: r.Gatherer, cloud: r.cloud, counters: &r.counters, reconcile: r.awaken,
		every: every, scope: scope, sightings: found,
	}
}

// What keeps orphans from being collected, as the metric says it.
const (
	heldByIngress = "ingress"
	heldByClass   = "class"
)

// orphans are the load balancers of a pass that nothing here stands for.
type orphans struct {
	loose []lb.Key            // those to collect, if the pass before found them too
	held  map[string][]lb.Key // the others, by what keeps them from being collected
	lost  []string            // the Ingresses that keep them
	// unlisted is why load balancers of some providers could not be listed.
	unlisted error
}

// Start looks until the context ends.
func (c *collector) Start(ctx context.Context) error {
	tick := time.NewTicker(c.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := c.pass(ctx); err != nil {
			log.FromContext(ctx).Error(err, "looking for orphans")
		}
	}
}

// pass looks once, and has collected what the pass before found too, although another replica may
// have made it.
func (c *collector) pass(ctx context.Context) error {
	found, err := c.orphans(ctx)
	if err != nil {
		return err
	}
	c.counters.looked(found)
	found.log(ctx)
	twice, err := c.sightings.note(ctx, found.loose)
	if err != nil {
		return err
	}
	c.reconcile(ctx, twice)
	return found.unlisted
}

// log says what keeps orphans from being collected.
func (o orphans) log(ctx context.Context) {
	l := log.FromContext(ctx)
	const most = 10
	few := func(keys []lb.Key) []lb.Key { return keys[:min(most, len(keys))] }
	if keys := o.held[heldByIngress]; len(keys) > 0 {
		l.Info("orphans are not collected: Ingresses with the finalizer "+v1alpha1.IngressFinalizer+" belong to no load balancer, and may be served by one of these; "+
			"the events of the Ingresses say what is wrong with them, and deleting them lets the orphans go",
			"orphans", few(keys), "count", len(keys), "ingresses", o.lost[:min(most, len(o.lost))])
	}
	if keys := o.held[heldByClass]; len(keys) > 0 {
		l.Info("orphans are not collected: their IngressClass is missing or names another controller; with the class back they are collected",
			"orphans", few(keys), "count", len(keys))
	}
}

// orphans are the keys that the cloud has and that nothing here stands for.
func (c *collector) orphans(ctx context.Context) (out orphans, err error) {
	keys, err := c.cloud.List(ctx)
	if _, others := errors.AsType[*providers.Unlisted](err); err != nil && !others {
		return out, err
	}
	out.unlisted = err
	if err := c.Memories.Ready(ctx); err != nil {
		return out, err
	}
	objects, err := c.Classes(ctx)
	if err != nil {
		return out, err
	}
	usable := map[string]bool{}
	for _, class := range objects.IngressClasses {
		usable[class.Name] = class.Spec.Controller == ingress.Controller
	}
	if out.lost, err = c.lost(ctx); err != nil {
		return out, err
	}
	remembered := c.Memories.Keys()
	out.held = map[string][]lb.Key{}
	for _, k := range keys {
		class, rest, _ := strings.Cut(string(k), "/")
		namespace, _, _ := strings.Cut(rest, "/")
		elsewhere := c.scope != "" && namespace != c.scope
		switch {
		case elsewhere || slices.Contains(remembered, k) || len(c.Directory.MembersOf(k)) > 0:
		case !usable[class]:
			out.held[heldByClass] = append(out.held[heldByClass], k)
		case len(out.lost) > 0:
			out.held[heldByIngress] = append(out.held[heldByIngress], k)
		default:
			out.loose = append(out.loose, k)
		}
	}
	return out, nil
}

// lost are the Ingresses with our finalizer that belong nowhere: each is refused, and no good
// version of it is remembered. What serves it looks just like an orphan.
func (c *collector) lost(ctx context.Context) (names []string, err error) {
	var list networkingv1.IngressList
	if err := c.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Ingresses: %w", err)
	}
	for i := range list.Items {
		who := cluster.RefOf(cluster.KindIngress, &list.Items[i])
		if controllerutil.ContainsFinalizer(&list.Items[i], v1alpha1.IngressFinalizer) && len(c.Directory.On(who)) == 0 {
			names = append(names, who.String())
		}
	}
	slices.Sort(names)
	return names, nil
}
