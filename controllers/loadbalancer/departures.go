package loadbalancer

import (
	"context"
	"errors"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/outcome"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file ends what ties Ingresses to the load balancer that are no members any more.

// part ends what ties the Ingresses that have departed to the load balancer, once nothing is routed
// for them any more, whatever state the others are in, and forgets them. It returns those that are
// to be let go of once the record has forgotten them, too: one that is remembered when its
// finalizer goes would be taken for one that has vanished.
func (r *Reconciler) releaseDeparted(ctx context.Context, o outcome.Outcome, next *records.Record) (free map[string]*networkingv1.Ingress, err error) {
	if len(o.Snapshot.Departed) == 0 || !o.Snapshot.Retained() && routed(plan.Diff(o.Observed, o.Built.LoadBalancer, o.Capabilities)) {
		return nil, nil
	}
	var errs []error
	free = map[string]*networkingv1.Ingress{}
	for _, name := range slices.Sorted(maps.Keys(o.Snapshot.Departed)) {
		ing := o.Snapshot.Departed[name]
		if err := r.partWith(ctx, o, cluster.RefFrom(cluster.KindIngress, name), ing); err != nil {
			errs = append(errs, err)
			continue
		}
		next.Memory.Members = slices.DeleteFunc(next.Memory.Members, func(m v1alpha1.MemberMemory) bool { return m.Ingress == name })
		delete(o.Snapshot.Departed, name)
		free[name] = ing
	}
	return free, errors.Join(errs...)
}

// partWith tells an Ingress where what served it goes on doing so, and why where its class does not
// permit that any more, and takes the address from its status, unless another load balancer of ours
// has it.
func (r *Reconciler) partWith(ctx context.Context, o outcome.Outcome, who cluster.Ref, ing *networkingv1.Ingress) error {
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

// elsewhere reports whether other load balancers have an Ingress, too.
func (r *Reconciler) elsewhere(o outcome.Outcome, who cluster.Ref) bool {
	return slices.ContainsFunc(r.Directory.On(who), func(k lb.Key) bool { return k != o.Snapshot.Key })
}

// release takes our finalizer from Ingresses that the record has forgotten, unless another load
// balancer has them. What fails is tried again, for the directory goes on having it.
func (r *Reconciler) release(ctx context.Context, o outcome.Outcome, free map[string]*networkingv1.Ingress) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(free)) {
		who := cluster.RefFrom(cluster.KindIngress, name)
		if !o.Snapshot.AwaitingRoom[name] {
			r.Directory.Release(who, o.Snapshot.Key) // first: of two that release it at a time, the last one finds nobody else
		}
		if r.elsewhere(o, who) {
			continue
		}
		if free[name] == nil {
			r.Ingresses.Forget(name)
			continue
		}
		if err := r.Ingresses.RemoveFinalizer(ctx, free[name]); err != nil {
			r.Directory.Place(who, []lb.Key{o.Snapshot.Key})
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// routed reports whether a plan that is not done takes routes away, so that some may still be
// there. What waits for the health of target groups is about members that are here: they take over.
func routed(p plan.Plan) bool {
	waits := make([]bool, len(p.Steps))
	for i, s := range p.Steps {
		_, waits[i] = s.Step.(plan.AwaitTargets)
		waits[i] = waits[i] || slices.ContainsFunc(s.After, func(before int) bool { return waits[before] })
		if takesAway(s.Step) && !waits[i] {
			return true
		}
	}
	return false
}

func takesAway(s plan.Step) bool {
	switch s.(type) {
	case plan.DeleteRule, plan.ModifyRule, plan.DeleteListener, plan.ModifyListener, plan.DeleteLoadBalancer:
		return true
	default: // creates something, or tidies up
		return false
	}
}
