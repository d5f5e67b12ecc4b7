package loadbalancer

import (
	"cmp"
	"context"
	"slices"
	"sync"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model/lb"
)

// This file holds Ingresses to the bound on the load balancers of a namespace. They are placed one
// after the other, so that each finds the load balancers of those before. When a load balancer is
// gone, the oldest Ingress that waits has its place.

// bounds has the Ingresses that the bound of a class refuses.
type bounds struct {
	placing sync.Mutex

	mu      sync.Mutex
	waiting map[string]bool // by namespace/name
}

// note records whether an Ingress waits for room.
func (b *bounds) note(name string, waits bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = map[string]bool{}
	}
	if b.waiting[name] = waits; !waits {
		delete(b.waiting, name)
	}
}

// waitingFor returns the Ingresses that may wait for a load balancer to go.
func (b *bounds) waitingFor(key lb.Key) (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.waiting {
		if key.AcrossNamespaces() || key.Tenant() == key.Class()+"/"+namespaceOf(name)+"/" {
			names = append(names, name)
		}
	}
	return names
}

// place finds the load balancers of an Ingress, and adds it to them.
func (r *Reconciler) place(ctx context.Context, ref cluster.Ref,
	ing *networkingv1.Ingress) (gather.Placement, []lb.Key, error) {
	r.bounds.placing.Lock()
	defer r.bounds.placing.Unlock()
	place, err := r.placer.PlaceOf(ctx, ing)
	r.bounds.note(ref.String(), place.NeedsRoom && ing.DeletionTimestamp.IsZero())
	return place, r.Directory.Place(ref, slices.Concat(place.Keys, place.RefusedBy)), err
}

// fillRoom places Ingresses that wait, oldest first, after a load balancer is gone.
func (r *Reconciler) fillRoom(ctx context.Context, gone *gather.Snapshot) {
	var waiting []*networkingv1.Ingress
	for _, name := range r.bounds.waitingFor(gone.Key) {
		ing, err := cluster.Get[networkingv1.Ingress](ctx, r.Cache,
			cluster.RefFrom(cluster.KindIngress, name))
		if err != nil {
			log.FromContext(ctx).Error(err, "reading an Ingress that waits for room", "ingress", name)
		}
		if ing == nil {
			r.bounds.note(name, err != nil)
			continue
		}
		waiting = append(waiting, ing)
	}
	slices.SortFunc(waiting, func(a, b *networkingv1.Ingress) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	most, tenant := gone.Class.MostLoadBalancers(), gone.Key.Tenant()
	for _, ing := range waiting {
		if most > 0 && len(r.Existing(tenant)) >= most {
			return
		}
		ref := cluster.RefOf(cluster.KindIngress, ing)
		before := r.Directory.DependentsOf(ref)
		if after := r.onIngress(ctx, ing); !slices.Equal(before, after) {
			r.Awaken(ctx, after)
			r.enqueueUnassigned(ctx, []string{ref.String()}) // there is nothing to tell any more
		}
	}
}
