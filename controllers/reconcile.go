package controllers

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"

	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/model/ingress"
)

// A reconciler takes one load balancer at a time from the objects that ask for it to the cloud.
type reconciler struct {
	*gatherer
	observer
	writer  client.Client
	events  *events.Recorder
	marks   marks
	targets *targetBook
	metrics *metrics.Recorder
	tally   tally
	// disputes are what others undo.
	disputes disputes
	waiting  waitings
	// backlog is the changes of load balancers that the cloud does not have yet, and late those of their targets.
	backlog queue.Backlog[lb.Key]
	late    *queue.Backlog[groupKey]
	waits   waits
	rules   rulebook
	// readOnly says that plans are reported, and nothing else is written.
	readOnly bool
	// ended is closed when the operator is to end.
	ended <-chan struct{}
	// wake makes other load balancers reconcile.
	wake chan event.TypedGenericEvent[lb.Key]
	// stray has Ingresses looked after that may belong to no load balancer from now on.
	stray chan event.TypedGenericEvent[types.NamespacedName]
}

// reportFor is how long it may take to write what came of a reconcile, even where the reconcile was ended.
const reportFor = time.Minute

// Reconcile is the whole story.
func (r *reconciler) Reconcile(ctx context.Context, key lb.Key) (reconcile.Result, error) {
	ctx = r.waiting.asker(ctx, key)
	r.backlog.Begin(key)
	snap, err := r.gather(ctx, key) // the objects, read once, with what is remembered of this key
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.hold(ctx, snap); err != nil { // finalizers, before anything exists to leak
		return reconcile.Result{}, err
	}
	var facts lb.Facts
	r.telling(ctx, snap, atAll, func() { facts, err = r.cloud.Lookup(ctx, snap.ask()) }) // what compiling needs to know about the cloud
	if err != nil {
		return r.blind(ctx, snap, err)
	}
	if err := r.doubtOthers(ctx, key); err != nil { // what another operator may have changed is looked at anew
		return reconcile.Result{}, err
	}
	before := r.has(key)
	var seen *lb.Observed
	r.telling(ctx, snap, atAll, func() { seen, err = r.seen(ctx, key) }) // what is there: observed once, then kept true
	if err != nil {
		return r.blind(ctx, snap, err)
	}
	if err := r.noteLoss(ctx, snap, seen, time.Now()); err != nil {
		return reconcile.Result{}, err
	}
	r.assumeWarm(ctx, snap, seen) // what was waited for long enough counts as ready
	caps := r.cloud.Capabilities(model.ClassOf(snap.Snapshot))
	built := r.compile(snap.Snapshot, facts, seen, caps)                    // the load balancer and diagnostics; cannot fail
	strangers := r.suffer(ctx, snap, seen, &built)                          // rules that are there, and nobody's here
	todo := unlessRetained(snap, plan.Diff(seen, built.LoadBalancer, caps)) // what to do, in a safe order
	o := outcome{snap: snap, caps: caps, built: built, seen: seen, todo: todo, strangers: strangers}
	o.unread = facts.LimitsUnread || facts.CertificatesUnread != "" || len(snap.SecretsUnread) > 0 || snap.NodesUnread != ""
	undone := undoneSince(before, o)
	o.dispute = r.judge(before != nil && before != seen, key, undone) // what another writer undoes
	o.withheld = r.withheld(o)
	r.targets.expect(key, r.directory.Of(key), o.groups()) // which target groups there will be: Pods may wait for them
	if o.withheld == "" && !todo.Empty() {
		if err := r.memories.Keeper.Claim(ctx, key); err != nil { // where another operator leads, the plan ends here
			r.forget(key)
			return reconcile.Result{}, err
		}
	}
	if o.withheld == "" {
		r.carryOut(ctx, &o) // do it
		if !todo.Empty() {
			r.wrote(key)
			r.disputes.wrote(key, stepsOf(todo), undone, time.Now())
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportFor)
	defer cancel()
	return r.report(ctx, o) // status, events, memory, finalizers released, when to come back
}

// carryOut carries the plan out.
func (r *reconciler) carryOut(ctx context.Context, o *outcome) {
	var done atomic.Int64
	began := time.Now()
	text := func(now time.Time) string { return untilDone(began, now, int(done.Load()), len(o.todo.Steps)) }
	r.telling(ctx, o.snap, text, func() {
		o.run, o.err = providers.Run(ctx, r.cloud, o.seen, o.todo, providers.Options{Done: func() { done.Add(1) }})
	})
}

// doubtOthers forgets what was seen of a load balancer that another operator has worked on since.
func (r *reconciler) doubtOthers(ctx context.Context, key lb.Key) error {
	taken, err := r.memories.Keeper.Overtaken(ctx, key)
	if taken {
		r.forget(key)
	}
	return err
}

// compile is model.Compile, timed.
func (r *reconciler) compile(snap ingress.Snapshot, facts lb.Facts, seen *lb.Observed, caps lb.Capabilities) model.Built {
	begin := time.Now()
	facts.Know(seen)
	built := model.Compile(snap, facts, caps)
	r.metrics.Compiles.Observe(time.Since(begin).Seconds())
	return built
}
