package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/printable"
)

// This file adds the finalizer to Ingresses before the cloud has resources for them, and removes it
// after these are deleted.

// addFinalizers adds every member to the record, and the finalizer to every Ingress, before the
// cloud has resources for it. After a crash the next process reads from them what to delete. Changes
// of an Ingress that cannot be given the finalizer are reverted in the snapshot.
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
	failures := make([]error, len(g.Ingresses))
	g.FinalizerErr = ingresses.ForEach(len(g.Ingresses), func(i int) error {
		if ing := g.Ingresses[i]; ing.DeletionTimestamp.IsZero() && ctx.Err() == nil {
			failures[i] = r.Ingresses.AddFinalizer(ctx, ing)
		}
		return failures[i]
	})
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), g.FinalizerErr)
	}
	revertWithoutFinalizer(g, failures)
	return nil
}

// revertWithoutFinalizer reverts the changes of the Ingresses that could not be given the finalizer:
// each is served as it was last accepted, or left out if it was never served. It may be too large
// for one more write, and must not delay the others.
func revertWithoutFinalizer(g *gather.Snapshot, failures []error) {
	failed := map[string]error{}
	for i, err := range failures {
		if err != nil {
			failed[cluster.RefOf(cluster.KindIngress, g.Ingresses[i]).String()] = err
		}
	}
	var reverted []ingress.Member
	for _, m := range g.Members {
		err, known := failed[m.Owner.String()], g.Recorded.Members[m.Owner.String()]
		if err == nil || m.Leaving || known.Served && known.LastAccepted == nil {
			continue // what is served stays, also if there is no version to return to
		}
		reverted = append(reverted, m)
	}
	if len(reverted) == 0 {
		return
	}
	g.Snapshot = g.Refuse(reverted)
	for _, m := range reverted {
		err := failed[m.Owner.String()]
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) { // this one is not gone
			g.Diagnostics = append(g.Diagnostics, unheldDiagnostic(m, err))
		}
	}
}

func unheldDiagnostic(m ingress.Member, err error) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Reason: diag.ChangeWaits, Source: m.Source(),
		Message: fmt.Sprintf("its change waits: the API server does not take the finalizer %s: %s; it "+
			"ends when the API server takes it, which is tried again; divide an Ingress that is too large",
			v1alpha1.IngressFinalizer, printable.Shorten(err.Error())),
	}
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
	err := r.keep(ctx, g.Key, &next)
	g.Record = next
	return err
}

// removeFinalizers removes the finalizer from Ingresses that the record does not have any more,
// unless another load balancer has them. After a failure the Ingress stays in the directory, and is
// tried again.
func (r *Reconciler) removeFinalizers(ctx context.Context, o outcome,
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
