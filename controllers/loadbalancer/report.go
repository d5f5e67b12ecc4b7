package loadbalancer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/outcome"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/providers"
)

// This file tells people what came of a reconcile, lets go of what is done with, and says when to
// come back. It writes only what has changed.

// report reports.
func (r *Reconciler) report(ctx context.Context, o outcome.Outcome) (reconcile.Result, error) {
	key := o.Snapshot.Key
	logPlan(ctx, o)
	r.account(o)
	r.warmups.add(o.Observed, o.Run.Pending, o.Err == nil, time.Now())
	if r.ReadOnly {
		return r.preview(ctx, o)
	}
	unconfirmed := o.Withheld == v1alpha1.ReasonUnconfirmed
	if !queue.OnlyPending(o.Err) || unconfirmed {
		r.forget(key) // a step may have been half done
	}
	r.Targets.Track(ctx, key, &o.Snapshot.Class, o.Capabilities, o.Observed.TargetGroups)
	next := o.Record(time.Now())
	o.Learn(&next, time.Now())
	waitsNow := r.waitsFor(o, &next, time.Now())
	setWaiting(&next, waitsNow, time.Now())
	rejected := o.Rejected(&next)
	var err error
	if len(rejected) > 0 {
		o.KeepPreviousDiagnostics(&next)
	} else {
		err = r.Events.SendNew(ctx, key, o.Diagnostics(), o.WasReported, o.Snapshot.Addressee)
	}
	err = errors.Join(err, r.publish(ctx, o, &next))
	free, failure := r.releaseDeparted(ctx, o, &next)
	err = errors.Join(err, failure)
	ended, wait := o.EndMoves(&next, time.Now())
	if len(free) > 0 && len(o.Snapshot.LeftOut) > 0 {
		ended = append(ended, key) // there is room for others now
	}
	wait = queue.Sooner(wait, queue.Sooner(o.UntilLetGo(&next, time.Now()), outcome.UntilFree(&next, time.Now())))
	wait = queue.Sooner(wait, r.untilVanishedGo(&next, time.Now()))
	wait = queue.Sooner(wait, rereads(o.Observed))
	if o.Unread {
		wait = queue.Sooner(wait, cluster.RetryUnread)
	}
	if left := r.lost(o.Snapshot, time.Now()); left > 0 {
		wait = queue.Sooner(wait, max(left, queue.AfterConflict))
	}
	if o.Dispute != nil {
		wait = queue.Sooner(wait, max(time.Until(o.Dispute.Until), queue.AfterConflict))
	}
	if slices.ContainsFunc(waitsNow, func(w reasonToWait) bool { return w.reason == v1alpha1.ReasonRateLimited }) {
		wait = queue.Sooner(wait, untilSeenOver)
	}
	if o.Finished(&next) && err == nil {
		r.gone(key)
		r.Disputes.Forget(key)
		r.writes.forget(key)
		r.Events.Forget(key)
		r.Targets.Forget(key)
		r.rules.forget(key)
		r.Waits.Forget(key)
		r.doubts.forget(key)
		err := r.Memories.Drop(ctx, key)
		if err == nil {
			err = r.release(ctx, o, free)
		}
		r.Awaken(ctx, append(ended, r.Memories.SameName(key)...)) // the name is free
		return reconcile.Result{}, err
	}
	if !o.Observed.Exists && len(o.Snapshot.Departed) == 0 && (len(o.Snapshot.Members) == 0 || o.Complete() && err == nil) {
		next.Address, next.IPs = "", nil // no Ingress has it in its status any more
	}
	forgotten := r.keep(ctx, key, &next)
	if err = errors.Join(err, forgotten); forgotten == nil {
		err = errors.Join(err, r.release(ctx, o, free))
	}
	r.Awaken(ctx, ended) // only now, for they look at what is remembered here
	r.lookAfter(ctx, rejected)
	switch {
	case err == nil && len(rejected) > 0, err == nil && unconfirmed:
		return reconcile.Result{RequeueAfter: queue.AfterConflict}, nil
	case err == nil && o.Err == nil && o.Observed.Exists && !o.Observed.Active:
		return reconcile.Result{RequeueAfter: queue.AfterPending}, nil
	case err == nil && o.Err == nil && (records.HasRejections(&next) || o.LacksCloudObjects()):
		return reconcile.Result{RequeueAfter: queue.Sooner(wait, outcome.UntilTried(&next, time.Now()))}, nil
	case err == nil && o.Err == nil:
		return reconcile.Result{RequeueAfter: queue.Sooner(wait, r.again(key))}, nil // to see whether the cloud has drifted
	}
	return reconcile.Result{RequeueAfter: wait}, errors.Join(o.Err, err)
}

// account counts the plan, and how long what changed has taken if the cloud has it. What a plan is
// withheld for is not late.
func (r *Reconciler) account(o outcome.Outcome) {
	key := o.Snapshot.Key
	r.awaited.set(key, o.Run.Pending)
	if !o.Plan.Empty() {
		r.Metrics.Plans.WithLabelValues(resultOf(o)).Inc()
	}
	if !o.Plan.Empty() && o.Withheld == "" {
		r.backlog.Worked(key)
	}
	if o.Withheld == "" && !(o.Served() && o.Observed.Active == o.Observed.Exists) {
		return
	}
	if took, worked := r.backlog.Met(key); worked && o.Withheld == "" {
		r.Metrics.Took(queue.BalancersLoop)(took)
	}
}

// reportUnreadableCloud reports that the cloud could not be read. All else is as it was.
func (r *Reconciler) reportUnreadableCloud(ctx context.Context, snap *gather.Snapshot, failure error) (reconcile.Result, error) {
	next := snap.Record
	if ctx.Err() != nil || len(snap.Members) == 0 && len(next.Memory.Members) == 0 {
		return reconcile.Result{}, failure // it was told to stop, or there is nobody to tell
	}
	next.Conditions = slices.Clone(next.Conditions)
	next.LastError = printable.Shorten(failure.Error())
	outcome.SetConditions(&next, outcome.ConditionsAfter(failure), time.Now())
	setWaiting(&next, r.waitsBlindly(snap, failure, time.Now()), time.Now())
	return reconcile.Result{}, errors.Join(failure, r.keep(ctx, snap.Key, &next))
}

// keep has a record outlive this process, no larger than the API server takes it.
func (r *Reconciler) keep(ctx context.Context, key lb.Key, next *records.Record) error {
	lost, err := next.Trim(v1alpha1.MaxSize)
	if len(lost) > 0 {
		log.FromContext(ctx).Info("the record is full: last accepted versions were dropped", "ingresses", lost)
	}
	return errors.Join(err, r.Memories.Save(ctx, key, *next.DeepCopy()))
}

// lookAfter has Ingresses told, where no load balancer has them, why that is.
func (r *Reconciler) lookAfter(ctx context.Context, ingresses []string) {
	for _, i := range ingresses {
		who := cluster.RefFrom(cluster.KindIngress, i)
		select {
		case r.Unassigned <- event.TypedGenericEvent[types.NamespacedName]{Object: types.NamespacedName{Namespace: who.Namespace, Name: who.Name}}:
		case <-ctx.Done():
		case <-r.Ended: // the operator ends, and its queue is not read
		}
	}
}

func logPlan(ctx context.Context, o outcome.Outcome) {
	if o.Withheld != "" {
		return
	}
	l := log.FromContext(ctx)
	if o.Run.Done > 0 {
		l.Info("changed the load balancer", "plan", o.Plan.Counts(), "steps", len(o.Plan.Steps), "done", o.Run.Done)
	}
	for _, s := range o.Plan.Print() {
		l.V(1).Info("step", "op", s.Op, "id", s.ID, "detail", s.Detail)
	}
}

// publish writes where each member is reached, once everything that it asks for is there. A member
// of which nothing is served has no address. Where the cloud refuses a step, members that have an
// address are told on which of their ports that is.
func (r *Reconciler) publish(ctx context.Context, o outcome.Outcome, next *records.Record) error {
	gone := !o.Observed.Exists && o.Complete()
	there := o.Observed.Exists && o.Observed.Active
	served := there && o.Served()
	refused := there && o.Withheld == "" && !queue.OnlyPending(o.Err)
	if !gone && !served && !refused {
		return nil
	}
	if !slices.Equal(records.AddressesOf(next), records.AddressesOf(&o.Snapshot.Record)) {
		// An address that is published before it is remembered could never be taken back.
		if err := r.keep(ctx, o.Snapshot.Key, next); err != nil {
			return err
		}
	}
	reach := outcome.NewReach(o.Observed.Address, o.Built.Table, func(port int32) bool { return o.Observed.Listener(port) != nil }, o.Diagnostics())
	var errs []error
	for _, m := range o.Snapshot.Members {
		known := records.MemberOf(next, m.Owner.String())
		if m.Leaving || m.Vanished || known == nil {
			continue
		}
		ing := o.Snapshot.Actual[m.Owner.String()]
		switch {
		case !reach.Serves(m) && (gone || served):
			errs = append(errs, r.Ingresses.Unpublish(ctx, ing, slices.Concat(records.AddressesOf(&o.Snapshot.Record), records.AddressesOf(next))))
		case reach.Serves(m) && (served && known.Served || refused && known.PublishedAt != nil):
			err := r.Ingresses.Publish(ctx, ing, reach.StatusOf(m))
			if err == nil && known.PublishedAt == nil {
				known.PublishedAt = now()
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// now is the time as the API stores it.
func now() *metav1.Time {
	t := metav1.Now().Rfc3339Copy()
	return &t
}

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

// SetRegistered has a load balancer reconciled of which a target group has got its first members, or
// lost its last.
func (r *Reconciler) SetRegistered(ctx context.Context, key lb.Key, group lb.GroupID, some bool) {
	r.tell(key, group, some)
	r.Awaken(ctx, []lb.Key{key})
}

// Awaken makes other load balancers reconcile.
func (r *Reconciler) Awaken(ctx context.Context, keys []lb.Key) {
	for _, key := range keys {
		select {
		case r.wake <- event.TypedGenericEvent[lb.Key]{Object: key}:
		case <-ctx.Done():
		case <-r.Ended: // the operator ends, and its queue is not read
		}
	}
}

// resultOf returns what came of a plan, as the metric says it.
func resultOf(o outcome.Outcome) string {
	switch {
	case o.Withheld != "":
		return "withheld"
	case queue.OnlyPending(o.Err):
		return metrics.ResultOf(o.Err)
	}
	for _, err := range queue.JoinedErrors(o.Err) {
		if !errors.Is(err, providers.ErrPending) {
			return metrics.ResultOf(err)
		}
	}
	return metrics.ResultOf(o.Err)
}
