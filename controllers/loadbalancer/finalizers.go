package loadbalancer

import (
	"context"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/outcome"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
)

// This file adds the finalizer to Ingresses before the cloud has resources for them, and removes it
// after these are deleted.

// addFinalizers adds every member to the record, and the finalizer to every Ingress, before the
// cloud has resources for it. After a crash the next process reads from them what to delete.
func (r *Reconciler) addFinalizers(ctx context.Context, g *gather.Snapshot) error {
	if r.ReadOnly {
		return nil
	}
	if err := r.recordMembers(ctx, g); err != nil {
		return err
	}
	for _, m := range g.Members {
		if m.Departing {
			r.Ingresses.StopRepairing(m.Owner.String())
		}
	}
	return ingresses.ForEachUntilError(ctx, len(g.Ingresses), func(i int) error {
		if ing := g.Ingresses[i]; ing.DeletionTimestamp.IsZero() {
			return r.Ingresses.AddFinalizer(ctx, ing)
		}
		return nil
	})
}

// recordMembers adds to the record the members that are new or have come back, with the load
// balancer that they come from, and the time when a member began to leave.
func (r *Reconciler) recordMembers(ctx context.Context, g *gather.Snapshot) error {
	next := *g.Record.DeepCopy()
	next.Members = g.MemberNames()
	next.MemberCount = int32(len(next.Members))
	changed, fresh := false, []v1alpha1.MemberMemory(nil)
	for _, m := range g.Members {
		name := m.Owner.String()
		known := records.MemberOf(&next, name)
		if known != nil && m.Departing != (known.DepartedAt != nil) {
			known.DepartedAt, changed = nil, true
			if m.Departing {
				known.DepartedAt = now()
			}
		}
		switch {
		case m.Leaving:
		case known == nil:
			fresh = append(fresh, v1alpha1.MemberMemory{
				Ingress: name, Previous: string(m.From), Move: m.Move,
			})
		case known.Move < m.Move:
			known.Previous, known.Earlier, known.Move, known.PublishedAt = string(m.From), nil, m.Move, nil
			for _, key := range m.Earlier {
				known.Earlier = append(known.Earlier, string(key))
			}
			changed = true
		}
	}
	changed = g.NoteVanished(&next) || changed
	if !changed && fresh == nil {
		return nil
	}
	next.Memory.Members = append(next.Memory.Members, fresh...)
	records.SortMembers(&next)
	g.Record = next
	return r.Memories.Save(ctx, g.Key, next)
}

// removeFinalizers removes the finalizer from Ingresses that the record does not have any more,
// unless another load balancer has them. After a failure the Ingress stays in the directory, and is
// tried again.
func (r *Reconciler) removeFinalizers(ctx context.Context, o outcome.Outcome,
	free map[string]*networkingv1.Ingress) error {
	names := slices.Sorted(maps.Keys(free))
	return ingresses.ForEach(len(names), func(i int) error {
		name := names[i]
		ref := cluster.RefFrom(cluster.KindIngress, name)
		if !o.Snapshot.AwaitingRoom[name] {
			// before the check: of two load balancers that release it, the last one finds no other
			r.Directory.Release(ref, o.Snapshot.Key)
		}
		if r.isOnOthers(o, ref) {
			return nil
		}
		if free[name] == nil {
			r.Ingresses.Forget(name)
			return nil
		}
		err := r.Ingresses.RemoveFinalizer(ctx, free[name])
		if err != nil {
			r.Directory.Place(ref, []lb.Key{o.Snapshot.Key})
		}
		return err
	})
}

// now returns the time with the precision of the API.
func now() *metav1.Time {
	t := metav1.Now().Rfc3339Copy()
	return &t
}
