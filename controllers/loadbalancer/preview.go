package loadbalancer

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/outcome"
	"fairlead.dev/fairlead/controllers/records"
)

// This file is the operator that only plans. It writes reports beside those of an operator that
// carries plans out: the records of that one say what has happened, and here nothing has.

// preview reports what would be done.
func (r *Reconciler) preview(ctx context.Context, o outcome.Outcome) (reconcile.Result, error) {
	key := o.Snapshot.Key
	r.forget(key) // another operator may change the cloud
	next := o.Record(time.Now())
	for name := range o.Snapshot.Departed {
		if records.MemberOf(&next, name) == nil {
			r.Directory.Release(cluster.RefFrom(cluster.KindIngress, name), key)
			delete(o.Snapshot.Departed, name)
		}
	}
	if o.Finished(&next) {
		return reconcile.Result{}, r.Memories.Drop(ctx, key)
	}
	if _, err := next.Trim(v1alpha1.MaxSize); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.Memories.Save(ctx, key, next); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.jittered()}, nil
}
