package loadbalancer

import (
	"context"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file removes from the record the Ingresses that are no members of the load balancer any
// more.

// releaseDeparted removes the departed Ingresses from the record, and the address from their
// status, after the last route for them is deleted. It returns the Ingresses whose finalizer may be
// removed after the record is written: an Ingress in the record without the finalizer would count
// as vanished.
func (r *Reconciler) releaseDeparted(ctx context.Context, o outcome,
	next *records.Record) (free map[string]*networkingv1.Ingress, err error) {
	if len(o.Snapshot.Departed) == 0 {
		return nil, nil
	}
	left := o.left()
	names := slices.Sorted(maps.Keys(o.Snapshot.Departed))
	names = slices.DeleteFunc(names, func(name string) bool {
		steps := left(cluster.RefFrom(cluster.KindIngress, name).Namespace)
		return o.keeps(name) || !o.Snapshot.Retained() &&
			removesRoutes(steps, func(s plan.Planned) bool { return o.concernsDeparted(s, name) })
	})
	parted := make([]bool, len(names))
	err = ingresses.ForEach(len(names), func(i int) error {
		ref := cluster.RefFrom(cluster.KindIngress, names[i])
		failure := r.unpublishDeparted(ctx, o, ref, o.Snapshot.Departed[names[i]])
		parted[i] = failure == nil
		return failure
	})
	free = map[string]*networkingv1.Ingress{}
	for i, name := range names {
		if parted[i] {
			free[name] = o.Snapshot.Departed[name]
			delete(o.Snapshot.Departed, name)
		}
	}
	next.Memory.Members = slices.DeleteFunc(next.Memory.Members, func(m v1alpha1.MemberMemory) bool {
		_, gone := free[m.Ingress]
		return gone
	})
	return free, err
}

// unpublishDeparted removes the address of the load balancer from the status of a departed Ingress,
// unless another load balancer has the Ingress. It sends an event if the load balancer is protected
// from deletion, or if the class does not permit the served settings any more.
func (r *Reconciler) unpublishDeparted(ctx context.Context, o outcome, ref cluster.Ref,
	ing *networkingv1.Ingress) error {
	if ing == nil || r.isOnOthers(o, ref) && !o.Snapshot.Disowned[ref.String()] {
		return nil
	}
	if d := o.protected(); d != nil {
		err := r.Events.Send(events.WithIngress(ctx, ing), events.FromDiagnostic(ing, *d))
		if err != nil {
			return err
		}
	}
	if d, withdrawn := o.Snapshot.ConsentWithdrawn[ref.String()]; withdrawn {
		if err := r.Events.Send(events.WithIngress(ctx, ing), events.FromDiagnostic(ing, d)); err != nil {
			return err
		}
	}
	if !ing.DeletionTimestamp.IsZero() {
		return nil
	}
	return r.Ingresses.Unpublish(ctx, ing, records.AddressesOf(&o.Snapshot.Record))
}

// isOnOthers reports whether other load balancers have an Ingress.
func (r *Reconciler) isOnOthers(o outcome, ref cluster.Ref) bool {
	return slices.ContainsFunc(r.Directory.DependentsOf(ref), func(k lb.Key) bool {
		return k != o.Snapshot.Key
	})
}

// removesRoutes reports whether a plan still has to delete or change routes, by steps that count.
// Steps after a wait for the health of target groups do not count: they are for Ingresses that
// stay.
func removesRoutes(p plan.Plan, counts func(plan.Planned) bool) bool {
	waits := make([]bool, len(p.Steps))
	for i, s := range p.Steps {
		_, waits[i] = s.Step.(plan.AwaitTargets)
		waits[i] = waits[i] || slices.ContainsFunc(s.After, func(before int) bool {
			return waits[before]
		})
		if removesRoute(s.Step) && !waits[i] && counts(s) {
			return true
		}
	}
	return false
}

func removesRoute(s plan.Step) bool {
	switch s.(type) {
	case plan.DeleteRule, plan.ModifyRule, plan.DeleteListener, plan.ModifyListener,
		plan.DeleteLoadBalancer:
		return true
	default: // creates a resource, or deletes an unused one
		return false
	}
}
