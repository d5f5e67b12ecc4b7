package loadbalancer

import (
	"context"
	"errors"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/providers"
)

// This file reports the outcome of a reconcile, releases Ingresses, and decides when to reconcile
// again. It writes only changes.

// report reports an outcome.
func (r *Reconciler) report(ctx context.Context, o outcome) (reconcile.Result, error) {
	key := o.Snapshot.Key
	logPlan(ctx, o)
	logExpectations(ctx, o)
	r.measure(o)
	r.warmups.add(o.Observed, o.Run.Pending, o.Err == nil, time.Now())
	if r.ReadOnly {
		return r.preview(ctx, o)
	}
	unconfirmed := o.Withheld == v1alpha1.ReasonUnconfirmed
	if o.Run.HalfDone || unconfirmed {
		r.forget(key)
	}
	r.Targets.Track(ctx, key, o.Snapshot.Class.LoadBalancerClassSpec, o.Capabilities,
		o.Observed.TargetGroups)
	next := o.record(time.Now())
	o.learn(&next, time.Now())
	waitsNow := r.waitsFor(o, &next, time.Now())
	setWaiting(&next, waitsNow, time.Now())
	rejected := o.rejected(&next)
	if len(rejected) > 0 {
		o.keepPreviousDiagnostics(&next)
	}
	refused, err := r.publish(ctx, o, &next)
	if len(rejected) == 0 {
		err = errors.Join(err, r.Events.SendNew(ctx, key, slices.Concat(o.diagnostics(), refused),
			o.wasReported, o.Snapshot.Addressee))
	}
	free, failure := r.releaseDeparted(ctx, o, &next)
	err = errors.Join(err, failure)
	ended, wait := o.endMoves(&next, time.Now())
	if len(free) > 0 && len(o.Snapshot.LeftOut) > 0 {
		ended = append(ended, key) // there is room for other Ingresses
	}
	wait = queue.Sooner(wait, r.nextDue(o, &next, waitsNow))
	if o.finished(&next) && err == nil {
		err := r.finish(ctx, o, free)
		r.fillRoom(ctx, o.Snapshot)
		r.Awaken(ctx, append(ended, r.Records.SameName(key)...)) // their name is free
		return reconcile.Result{}, err
	}
	if !o.Observed.Exists && len(o.Snapshot.Departed) == 0 && (len(o.Snapshot.Members) == 0 ||
		o.complete() && err == nil) {
		next.Address, next.IPs = "", nil // no Ingress has it in its status any more
	}
	forgotten := r.keep(ctx, key, &next)
	if err = errors.Join(err, forgotten); forgotten == nil {
		err = errors.Join(err, r.removeFinalizers(ctx, o, free))
	}
	r.Awaken(ctx, ended) // after the write, for they read this record
	r.enqueueUnassigned(ctx, rejected)
	err = errors.Join(err, o.Snapshot.FinalizerErr) // to try again
	if err != nil || o.Err != nil && len(rejected) == 0 && !unconfirmed {
		return reconcile.Result{RequeueAfter: wait}, errors.Join(o.Err, err)
	}
	return reconcile.Result{RequeueAfter: r.requeueAfter(o, &next, rejected, wait)}, nil
}

// nextDue returns when a load balancer has to be reconciled before its next check for drift; 0 for
// not at all.
func (r *Reconciler) nextDue(o outcome, next *records.Record,
	waits []reasonToWait) time.Duration {
	wait := queue.Sooner(o.untilDeparted(next, time.Now()), untilFree(next, time.Now()))
	wait = queue.Sooner(wait, o.untilVanishedEnd(next, r.Grace, time.Now()))
	wait = queue.Sooner(wait, rereads(o.Observed))
	if o.Unread || o.Expectations.Set.Unread != "" {
		wait = queue.Sooner(wait, cluster.RetryUnread)
	}
	if left := r.lostRecordWait(o.Snapshot, time.Now()); left > 0 {
		wait = queue.Sooner(wait, max(left, queue.AfterConflict))
	}
	if o.Dispute != nil {
		wait = queue.Sooner(wait, max(time.Until(o.Dispute.Until), queue.AfterConflict))
	}
	if slices.ContainsFunc(waits, func(w reasonToWait) bool {
		return w.reason == v1alpha1.ReasonRateLimited
	}) {
		wait = queue.Sooner(wait, waitCheckInterval)
	}
	return wait
}

// finish drops a deleted load balancer and its record, and releases its Ingresses.
func (r *Reconciler) finish(
	ctx context.Context, o outcome, free map[string]*networkingv1.Ingress,
) error {
	key := o.Snapshot.Key
	r.drop(key)
	r.Disputes.Forget(key)
	r.writes.forget(key)
	r.Events.Forget(key)
	r.Targets.Forget(key)
	r.rules.forget(key)
	r.Waits.Forget(key)
	r.doubts.forget(key)
	r.gate.Forget(key)
	if err := r.Records.Drop(ctx, key); err != nil {
		return err
	}
	return r.removeFinalizers(ctx, o, free)
}

// requeueAfter returns when to reconcile a load balancer again after its report.
func (r *Reconciler) requeueAfter(
	o outcome, next *records.Record, rejected []string, wait time.Duration,
) time.Duration {
	switch {
	case len(rejected) > 0, o.Withheld == v1alpha1.ReasonUnconfirmed:
		return queue.AfterConflict
	case o.Observed.Exists && !o.Observed.Active:
		return queue.AfterPending
	case records.HasRejections(next) || o.lacksCloudObjects():
		return queue.Sooner(wait, untilTried(next, time.Now()))
	}
	return queue.Sooner(wait, r.again(o.Snapshot.Key)) // to find drift
}

// measure counts the plan, and measures how long the change took if the cloud has it. The time
// while a plan is withheld does not count.
func (r *Reconciler) measure(o outcome) {
	key := o.Snapshot.Key
	r.awaited.set(key, o.Run.Pending)
	if !o.Plan.Empty() {
		r.Metrics.Plans.WithLabelValues(resultOf(o)).Inc()
		r.backlog.NoteWork(key)
	}
	if o.Withheld == "" && !(o.served() && o.Observed.Active == o.Observed.Exists) {
		return
	}
	if took, worked := r.backlog.End(key); worked && o.Withheld == "" {
		r.Metrics.Took(queue.BalancersLoop)(took)
	}
}

// reportUnreadableCloud reports that the cloud could not be read.
func (r *Reconciler) reportUnreadableCloud(ctx context.Context, snap *gather.Snapshot,
	failure error) (reconcile.Result, error) {
	next := snap.Record
	if ctx.Err() != nil || len(snap.Members) == 0 && len(next.Memory.Members) == 0 {
		return reconcile.Result{}, failure // it was cancelled, or no Ingress exists
	}
	next.Conditions = slices.Clone(next.Conditions)
	next.LastError = printable.Shorten(failure.Error())
	setConditions(&next, conditionsAfter(failure), time.Now())
	setWaiting(&next, r.waitsUnobserved(snap, failure, time.Now()), time.Now())
	return reconcile.Result{}, errors.Join(failure, r.keep(ctx, snap.Key, &next))
}

func logPlan(ctx context.Context, o outcome) {
	if o.Withheld != "" {
		return
	}
	l := log.FromContext(ctx)
	if o.Run.Done > 0 {
		l.Info("changed the load balancer", "plan", o.Plan.Counts(), "steps", len(o.Plan.Steps),
			"done", o.Run.Done)
	}
	for _, s := range o.Plan.Print() {
		l.V(1).Info("step", "op", s.Op, "id", s.ID, "detail", s.Detail)
	}
}

// resultOf returns the result of a plan, as the metric names it.
func resultOf(o outcome) string {
	if o.Withheld != "" {
		return "withheld"
	}
	for _, err := range queue.JoinedErrors(o.Err) {
		if !errors.Is(err, providers.ErrPending) {
			return metrics.ResultOf(err)
		}
	}
	return metrics.ResultOf(o.Err)
}

// preview reports a plan of an operator that only plans. Its reports are apart from the records of
// an operator that carries plans out.
func (r *Reconciler) preview(ctx context.Context, o outcome) (reconcile.Result, error) {
	key := o.Snapshot.Key
	r.forget(key) // another operator may change the cloud
	next := o.record(time.Now())
	for name := range o.Snapshot.Departed {
		if records.MemberOf(&next, name) == nil {
			r.Directory.Release(cluster.RefFrom(cluster.KindIngress, name), key)
			delete(o.Snapshot.Departed, name)
		}
	}
	if o.finished(&next) {
		err := r.Records.Drop(ctx, key)
		r.fillRoom(ctx, o.Snapshot)
		return reconcile.Result{}, err
	}
	if _, err := next.Trim(v1alpha1.MaxSize); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.Records.Save(ctx, key, next); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.jittered()}, nil
}
