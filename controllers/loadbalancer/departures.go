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
	"fairlead.dev/fairlead/controllers/outcome"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
)

// This file releases the Ingresses that are no members of the load balancer any more.

// releaseDeparted ends what ties the departed Ingresses to the load balancer, once no requests are
// routed for them any more, and removes them from the record. It returns those whose finalizer is
// to be removed once the record is written: an Ingress that is in the record and has no finalizer
// would be taken for one that has vanished.
func (r *Reconciler) releaseDeparted(ctx context.Context, o outcome.Outcome,
	next *records.Record) (free map[string]*networkingv1.Ingress, err error) {
	if len(o.Snapshot.Departed) == 0 || !o.Snapshot.Retained() &&
		routed(planner.Diff(o.Observed, o.Built.LoadBalancer, o.Capabilities)) {
		return nil, nil
	}
	names := slices.Sorted(maps.Keys(o.Snapshot.Departed))
	parted := make([]bool, len(names))
	err = ingresses.ForEach(len(names), func(i int) error {
		who := cluster.RefFrom(cluster.KindIngress, names[i])
		failure := r.partWith(ctx, o, who, o.Snapshot.Departed[names[i]])
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

// partWith removes the address of the load balancer from the status of a departed Ingress, unless
// another load balancer has the Ingress. It sends events where the load balancer stays, or where
// the class does not permit any more what was served.
func (r *Reconciler) partWith(ctx context.Context, o outcome.Outcome, who cluster.Ref,
	ing *networkingv1.Ingress) error {
	if ing == nil || r.elsewhere(o, who) && !o.Snapshot.Disowned[who.String()] {
		return nil
	}
	if d := o.Protected(); d != nil {
		if err := r.Events.Send(events.WithIngress(ctx, ing), events.OfDiagnostic(ing, *d)); err != nil {
			return err
		}
	}
	if d, told := o.Snapshot.ConsentWithdrawn[who.String()]; told {
		if err := r.Events.Send(events.WithIngress(ctx, ing), events.OfDiagnostic(ing, d)); err != nil {
			return err
		}
	}
	if !ing.DeletionTimestamp.IsZero() {
		return nil
	}
	return r.Ingresses.Unpublish(ctx, ing, records.AddressesOf(&o.Snapshot.Record))
}

// elsewhere reports whether other load balancers have an Ingress.
func (r *Reconciler) elsewhere(o outcome.Outcome, who cluster.Ref) bool {
	return slices.ContainsFunc(r.Directory.On(who), func(k lb.Key) bool { return k != o.Snapshot.Key })
}

// release removes the finalizer from Ingresses that the record does not have any more, unless
// another load balancer has them. An Ingress that cannot be released stays in the directory, and is
// tried again.
func (r *Reconciler) release(ctx context.Context, o outcome.Outcome,
	free map[string]*networkingv1.Ingress) error {
	names := slices.Sorted(maps.Keys(free))
	return ingresses.ForEach(len(names), func(i int) error {
		name := names[i]
		who := cluster.RefFrom(cluster.KindIngress, name)
		if !o.Snapshot.AwaitingRoom[name] {
			// first: where two load balancers release it, the last one finds no other
			r.Directory.Release(who, o.Snapshot.Key)
		}
		if r.elsewhere(o, who) {
			return nil
		}
		if free[name] == nil {
			r.Ingresses.Forget(name)
			return nil
		}
		err := r.Ingresses.RemoveFinalizer(ctx, free[name])
		if err != nil {
			r.Directory.Place(who, []lb.Key{o.Snapshot.Key})
		}
		return err
	})
}

// routed reports whether steps that are not done take routes away. Steps that wait for the health
// of target groups do not count: they are about the Ingresses that stay.
func routed(p plan.Plan) bool {
	waits := make([]bool, len(p.Steps))
	for i, s := range p.Steps {
		_, waits[i] = s.Step.(plan.AwaitTargets)
		waits[i] = waits[i] || slices.ContainsFunc(s.After, func(before int) bool {
			return waits[before]
		})
		if takesAway(s.Step) && !waits[i] {
			return true
		}
	}
	return false
}

func takesAway(s plan.Step) bool {
	switch s.(type) {
	case plan.DeleteRule, plan.ModifyRule, plan.DeleteListener, plan.ModifyListener,
		plan.DeleteLoadBalancer:
		return true
	default: // creates something, or deletes what is not used any more
		return false
	}
}
