package controllers

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/records"
)

// This file keeps Ingresses from being removed while the cloud has resources for them.

// finalizer is on every Ingress that is served.
const finalizer = "fairlead.dev/ingress"

// finalizers adds and removes our finalizer, and remembers what was written beside it.
type finalizers struct {
	writer  client.Client
	written writtenStatus
}

// addFinalizers remembers every member, and adds our finalizer to it, before anything of it exists
// in the cloud: wherever this process ends, the next one knows what to delete.
func (r *reconciler) addFinalizers(ctx context.Context, g *gathering) error {
	if r.readOnly {
		return nil
	}
	if err := r.enrol(ctx, g); err != nil {
		return err
	}
	for _, m := range g.Members {
		if m.Departing {
			r.finalizers.written.unpublish(m.Owner.String())
		}
	}
	for _, ing := range g.Ingresses {
		if !ing.DeletionTimestamp.IsZero() {
			continue
		}
		r.finalizers.written.hold(cluster.RefOf(cluster.KindIngress, ing).String())
		if controllerutil.ContainsFinalizer(ing, finalizer) {
			continue
		}
		held := ing.DeepCopy()
		controllerutil.AddFinalizer(held, finalizer)
		if err := r.finalizers.patch(ctx, ing, held); err != nil {
			return fmt.Errorf("holding Ingress %s/%s: %w", ing.Namespace, ing.Name, err)
		}
	}
	return nil
}

// enrol remembers the members that are new, or come back, and from which load balancer; and since
// when a member has left.
func (r *reconciler) enrol(ctx context.Context, g *gathering) error {
	next := *g.record.DeepCopy()
	next.Members = g.names()
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
			fresh = append(fresh, v1alpha1.MemberMemory{Ingress: name, Previous: string(m.From), Move: m.Move})
		case known.Move < m.Move:
			known.Previous, known.Earlier, known.Move, known.PublishedAt = string(m.From), nil, m.Move, nil
			for _, key := range m.Earlier {
				known.Earlier = append(known.Earlier, string(key))
			}
			changed = true
		}
	}
	changed = g.noteVanished(&next) || changed
	if !changed && fresh == nil {
		return nil
	}
	next.Memory.Members = append(next.Memory.Members, fresh...)
	records.SortMembers(&next)
	g.record = next
	return r.memories.Save(ctx, g.Key, next)
}

// remove removes our finalizer from an Ingress, if it is there.
func (f *finalizers) remove(ctx context.Context, ing *networkingv1.Ingress) error {
	f.written.drop(cluster.RefOf(cluster.KindIngress, ing).String())
	if !controllerutil.ContainsFinalizer(ing, finalizer) {
		return nil
	}
	free := ing.DeepCopy()
	controllerutil.RemoveFinalizer(free, finalizer)
	if err := f.patch(ctx, ing, free); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("letting go of Ingress %s/%s: %w", ing.Namespace, ing.Name, err)
	}
	return nil
}

// patch replaces the list of finalizers. With the optimistic lock it fails where another writer has
// changed the object since it was read, whose finalizer would be lost.
func (f *finalizers) patch(ctx context.Context, from, to *networkingv1.Ingress) error {
	return f.writer.Patch(ctx, to, client.MergeFromWithOptions(from, client.MergeFromWithOptimisticLock{}))
}
