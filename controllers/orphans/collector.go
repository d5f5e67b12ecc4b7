// Package orphans collects load balancers of which there is no Ingress and no record: a crash or a
// lost record left them behind. A load balancer is an orphan once two passes have found it, and its
// class can be used: where the class is missing, its Ingresses may only have become unreadable.
package orphans

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
	"fairlead.dev/fairlead/model/ingress/classes"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// A Collector finds orphans, and has those collected that two passes have found. It runs while this
// replica is the leader.
type Collector struct {
	*gather.Gatherer
	Cloud     providers.Provider
	Sightings *Sightings
	// Every is how much time is between two passes.
	Every time.Duration
	// Count is called with how many orphans there are, and how many of them are kept, by what keeps
	// them.
	Count func(orphans int, kept map[string]int)
	// Reconcile has load balancers reconciled: one without members is deleted.
	Reconcile func(context.Context, []lb.Key)
}

// Reasons for which orphans are not collected, as the metric names them.
const (
	heldByIngress = "ingress"
	heldByClass   = "class"
)

// found are the load balancers of a pass that have no Ingress and no record.
type found struct {
	loose []lb.Key            // those to collect, if the pass before found them too
	held  map[string][]lb.Key // the others, by what keeps them from being collected
	lost  []string            // the Ingresses that keep them
	// unlisted is why load balancers of some providers could not be listed.
	unlisted error
}

// Start makes passes until the context ends.
func (c *Collector) Start(ctx context.Context) error {
	tick := time.NewTicker(c.Every)
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

// pass makes one pass, and has those orphans collected that the pass before it has found too. The
// leader before this one may have made that.
func (c *Collector) pass(ctx context.Context) error {
	now, err := c.find(ctx)
	if err != nil {
		return err
	}
	c.Count(now.total())
	now.log(ctx)
	twice, err := c.Sightings.replace(ctx, now.loose)
	if err != nil {
		return err
	}
	c.Reconcile(ctx, twice)
	return now.unlisted
}

// total returns how many orphans there are, and how many of them are kept, by what keeps them.
func (f found) total() (all int, kept map[string]int) {
	all, kept = len(f.loose), map[string]int{}
	for by, keys := range f.held {
		all += len(keys)
		kept[by] = len(keys)
	}
	return all, kept
}

// log says what keeps orphans from being collected.
func (f found) log(ctx context.Context) {
	l := log.FromContext(ctx)
	const most = 10
	few := func(keys []lb.Key) []lb.Key { return keys[:min(most, len(keys))] }
	if keys := f.held[heldByIngress]; len(keys) > 0 {
		l.Info("orphans are not collected: Ingresses with the finalizer "+v1alpha1.IngressFinalizer+
			" belong to no load balancer, and may be served by one of these; "+
			"the events of the Ingresses say what is wrong with them, and deleting them lets the orphans go",
			"orphans", few(keys), "count", len(keys), "ingresses", f.lost[:min(most, len(f.lost))])
	}
	if keys := f.held[heldByClass]; len(keys) > 0 {
		l.Info("orphans are not collected: their IngressClass is missing or names another controller; "+
			"with the class back they are collected",
			"orphans", few(keys), "count", len(keys))
	}
}

// find returns the load balancers in the cloud that have no Ingress and no record.
func (c *Collector) find(ctx context.Context) (out found, err error) {
	keys, err := c.Cloud.List(ctx)
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
		usable[class.Name] = class.Spec.Controller == classes.Controller
	}
	if out.lost, err = c.lost(ctx); err != nil {
		return out, err
	}
	remembered := c.Memories.Keys()
	out.held = map[string][]lb.Key{}
	for _, k := range keys {
		class, rest, _ := strings.Cut(string(k), "/")
		namespace, _, _ := strings.Cut(rest, "/")
		elsewhere := c.Scope != "" && namespace != c.Scope
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

// lost returns the Ingresses with the finalizer that belong to no load balancer: each is refused,
// and no record has an accepted version of it. The load balancer that serves it looks like an
// orphan.
func (c *Collector) lost(ctx context.Context) (names []string, err error) {
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
