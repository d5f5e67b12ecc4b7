// Package loadbalancer reconciles load balancers. Its requests are the keys of load balancers,
// never the names of objects. Deletion takes the same path: a snapshot without members compiles to
// the empty load balancer. reconcile.go has all steps on one screen.
package loadbalancer

import (
	"context"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// reportFor is how long reporting may take, even where the reconcile was cancelled.
const reportFor = time.Minute

// Reconcile reconciles one load balancer: from its Ingresses to the cloud, and back to their
// status.
func (r *Reconciler) Reconcile(ctx context.Context, key lb.Key) (reconcile.Result, error) {
	ctx = r.Waits.WithCalls(ctx, key)
	r.backlog.Begin(key)
	snap, err := r.Gather(ctx, key) // the objects and the record of this load balancer, read once
	if err != nil {
		return reconcile.Result{}, err
	}
	if snap.Adoption.IsUnderWay() && !r.ReadOnly {
		return reconcile.Result{}, r.reportAdoption(ctx, snap) // it is on its way from another controller, or to it
	}
	r.forgetIfAdopted(snap)
	if err := r.addFinalizers(ctx, snap); err != nil { // before anything exists in the cloud
		return reconcile.Result{}, err
	}
	var facts lb.Facts // certificates, subnets, web ACLs
	asked := snap.Ask()
	r.reportingWait(ctx, snap, rateMessage, func() { facts, err = r.Cloud.Lookup(ctx, asked) })
	facts.Network = asked.Network
	if err != nil {
		return r.reportUnreadableCloud(ctx, snap, err)
	}
	if err := r.forgetIfOvertaken(ctx, key); err != nil { // another operator has led since
		return reconcile.Result{}, err
	}
	before := r.lastObserved(key)
	var seen *lb.Observed // the load balancer in the cloud
	r.reportingWait(ctx, snap, rateMessage, func() { seen, err = r.observe(ctx, key) })
	if err != nil {
		return r.reportUnreadableCloud(ctx, snap, err)
	}
	if err := r.noteLostRecord(ctx, snap, seen, time.Now()); err != nil {
		return reconcile.Result{}, err
	}
	r.warmups.assumeWarm(ctx, snap, seen) // the wait for some target groups is over
	o := r.plan(ctx, snap, facts, seen)   // the wanted load balancer, and the steps to it
	undone := undoneSince(before, o)      // steps that another writer undoes
	o.Dispute = r.writes.disputeOf(r.Disputes, before != nil && before != seen, key, undone)
	o.Withheld = r.withheld(o)
	// Pods with a readiness gate may wait for target groups that do not exist yet.
	r.Targets.Expect(key, r.Directory.ReferencesOf(key), o.groups())
	if err := r.apply(ctx, &o, facts, undone); err != nil {
		return reconcile.Result{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportFor)
	defer cancel()
	return r.report(ctx, o) // status, events, record, finalizers, and when to reconcile again
}

// unread reports whether a dependency of the load balancer could not be read.
func unread(snap *gather.Snapshot, facts lb.Facts) bool {
	return facts.LimitsUnread || facts.CertificatesUnread != "" || len(snap.SecretsUnread) > 0 ||
		snap.NodesUnread != ""
}

// apply carries the plan out, unless it is withheld, and remembers its steps. Of a plan that a
// second reading has to confirm it carries out what deletes nothing. It fails without a change if
// another operator has the lease.
func (r *Reconciler) apply(ctx context.Context, o *outcome, facts lb.Facts,
	undone []string) error {
	switch o.Withheld {
	case "":
		return r.applyAll(ctx, o, facts, undone)
	case v1alpha1.ReasonUnconfirmed:
		whole := o.Plan
		o.Plan = plan.WithoutDeletions(whole)
		err := r.applyAll(ctx, o, facts, undone)
		o.Plan = whole
		return err
	}
	return nil
}

func (r *Reconciler) applyAll(ctx context.Context, o *outcome, facts lb.Facts,
	undone []string) error {
	key := o.Snapshot.Key
	if !o.Plan.Empty() {
		if err := r.claim(ctx, key); err != nil {
			return err
		}
	}
	if o.Snapshot.Expectations != nil && !o.Plan.Empty() {
		r.gate.ServedPartly(key)
	}
	r.carryOut(ctx, o)
	r.passFailed(ctx, o, facts)
	if o.Snapshot.Expectations != nil && o.served() {
		r.gate.Served(key, o.Built.Table)
	}
	if !o.Plan.Empty() {
		r.noteWrite(key)
		r.writes.add(key, stepsOf(o.Plan), undone, time.Now())
	}
	return nil
}

// claim writes the record before a plan is carried out. If the write fails, another operator may
// change the load balancer, so the observation is dropped.
func (r *Reconciler) claim(ctx context.Context, key lb.Key) error {
	err := r.Records.Store.Claim(ctx, key)
	if err != nil {
		r.forget(key)
		r.gate.Forget(key)
	}
	return err
}

// carryOut carries the plan out.
func (r *Reconciler) carryOut(ctx context.Context, o *outcome) {
	var done atomic.Int64
	began := time.Now()
	text := func(now time.Time) string {
		return doneMessage(began, now, int(done.Load()), len(o.Plan.Steps))
	}
	r.reportingWait(ctx, o.Snapshot, text, func() {
		o.Run, o.Err = providers.Run(ctx, r.Cloud, o.Observed, o.Plan, providers.Options{
			Done: func(plan.Step) { done.Add(1) },
		})
	})
}

// forgetIfOvertaken drops the observation of a load balancer that another operator has changed.
func (r *Reconciler) forgetIfOvertaken(ctx context.Context, key lb.Key) error {
	taken, err := r.Records.Store.Overtaken(ctx, key)
	if taken {
		r.forget(key)
		r.gate.Forget(key)
	}
	return err
}

// compile calls model.Compile, and measures its duration.
func (r *Reconciler) compile(snap ingress.Snapshot, facts lb.Facts, seen *lb.Observed,
	caps lb.Capabilities) model.Built {
	begin := time.Now()
	facts.AddObserved(seen)
	built := model.Compile(snap, facts, caps)
	r.Metrics.Compiles.Observe(time.Since(begin).Seconds())
	return built
}
