package loadbalancer

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/records"
)

// This file keeps Ingresses from being removed while the cloud has resources for them.

// addFinalizers adds every member to the record, and the finalizer to every Ingress, before
// anything of it exists in the cloud: wherever this process ends, the next one knows what to
// delete.
func (r *Reconciler) addFinalizers(ctx context.Context, g *gather.Snapshot) error {
	if r.ReadOnly {
		return nil
	}
	if err := r.enrol(ctx, g); err != nil {
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

// enrol adds to the record the members that are new or have come back, with the load balancer that
// they come from, and since when a member has been leaving.
func (r *Reconciler) enrol(ctx context.Context, g *gather.Snapshot) error {
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

// now returns the time with the precision of the API.
func now() *metav1.Time {
	t := metav1.Now().Rfc3339Copy()
	return &t
}
