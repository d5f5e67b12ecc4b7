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

// An OrphanCollector collects the orphans that two passes have found. It runs while this replica is the
// leader.
type OrphanCollector struct {
	*gather.Gatherer
	Cloud     providers.Provider
	Sightings *OrphanSightings
	// Interval is the time between two passes.
	Interval time.Duration
	// Count is called with the number of orphans, and the number of kept ones by reason.
	Count func(orphans int, kept map[string]int)
	// Reconcile enqueues load balancers: one without members is deleted.
	Reconcile func(context.Context, []lb.Key)
}

// Reasons for which orphans are not collected, as the metric names them.
const (
	heldByIngress = "ingress"
	heldByClass   = "class"
)

// found holds the load balancers of a pass that have no Ingress and no record.
type found struct {
	collectable []lb.Key            // to be collected, if the last pass found them too
	kept        map[string][]lb.Key // kept ones, by reason
	lost        []string            // the Ingresses for which they are kept
	// unlisted is the error of providers whose load balancers could not be listed.
	unlisted error
}

// Start makes passes until the context ends.
func (c *OrphanCollector) Start(ctx context.Context) error {
	tick := time.NewTicker(c.Interval)
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

// pass makes one pass, and enqueues the orphans that the last pass, maybe of another leader, has
// found too.
func (c *OrphanCollector) pass(ctx context.Context) error {
	now, err := c.find(ctx)
	if err != nil {
		return err
	}
	c.Count(now.total())
	now.log(ctx)
	twice, err := c.Sightings.replace(ctx, now.collectable)
	if err != nil {
		return err
	}
	c.Reconcile(ctx, twice)
	return now.unlisted
}

// total returns the number of orphans, and the number of kept ones by reason.
func (f found) total() (all int, kept map[string]int) {
	all, kept = len(f.collectable), map[string]int{}
	for by, keys := range f.kept {
		all += len(keys)
		kept[by] = len(keys)
	}
	return all, kept
}

// log logs the reasons for which orphans are kept.
func (f found) log(ctx context.Context) {
	l := log.FromContext(ctx)
	const most = 10
	few := func(keys []lb.Key) []lb.Key { return keys[:min(most, len(keys))] }
	if keys := f.kept[heldByIngress]; len(keys) > 0 {
		l.Info("orphans are not collected: Ingresses with the finalizer "+v1alpha1.IngressFinalizer+
			" belong to no load balancer, and may be served by one of these; "+
			"the events of the Ingresses say what is wrong with them, and deleting them lets the orphans go",
			"orphans", few(keys), "count", len(keys), "ingresses", f.lost[:min(most, len(f.lost))])
	}
	if keys := f.kept[heldByClass]; len(keys) > 0 {
		l.Info("orphans are not collected: their IngressClass is missing or names another controller; "+
			"with the class back they are collected",
			"orphans", few(keys), "count", len(keys))
	}
}

// find returns the load balancers in the cloud that have no Ingress and no record.
func (c *OrphanCollector) find(ctx context.Context) (out found, err error) {
	keys, err := c.Cloud.List(ctx)
	if _, others := errors.AsType[*providers.ListError](err); err != nil && !others {
		return out, err
	}
	out.unlisted = err
	if err := c.Records.Ready(ctx); err != nil {
		return out, err
	}
	objects, err := c.Classes(ctx)
	if err != nil {
		return out, err
	}
	usable := map[string]bool{}
	for _, class := range objects.IngressClasses {
		usable[class.Name] = class.Spec.Controller == ingress.ControllerName
	}
	if out.lost, err = c.lostIngresses(ctx); err != nil {
		return out, err
	}
	remembered := c.Records.Keys()
	out.kept = map[string][]lb.Key{}
	for _, k := range keys {
		class, rest, _ := strings.Cut(string(k), "/")
		namespace, _, _ := strings.Cut(rest, "/")
		elsewhere := c.Scope != "" && namespace != c.Scope
		switch {
		case elsewhere || slices.Contains(remembered, k) || len(c.Directory.MembersOf(k)) > 0:
		case !usable[class]:
			out.kept[heldByClass] = append(out.kept[heldByClass], k)
		case len(out.lost) > 0:
			out.kept[heldByIngress] = append(out.kept[heldByIngress], k)
		default:
			out.collectable = append(out.collectable, k)
		}
	}
	return out, nil
}

// lostIngresses returns the Ingresses with the finalizer that belong to no load balancer: they are
// refused, and no record has an accepted version. A load balancer that serves one looks like an
// orphan.
func (c *OrphanCollector) lostIngresses(ctx context.Context) (names []string, err error) {
	var list networkingv1.IngressList
	if err := c.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Ingresses: %w", err)
	}
	for i := range list.Items {
		ref := cluster.RefOf(cluster.KindIngress, &list.Items[i])
		if controllerutil.ContainsFinalizer(&list.Items[i], v1alpha1.IngressFinalizer) &&
			len(c.Directory.DependentsOf(ref)) == 0 {
			names = append(names, ref.String())
		}
	}
	slices.Sort(names)
	return names, nil
}
