package loadbalancer

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/controllers/targets"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/providers"
)

// Parts are the parts of a Reconciler, which it shares with other reconcilers.
type Parts struct {
	*gather.Gatherer
	Cloud     providers.Provider
	Events    *events.Recorder
	Ingresses *ingresses.Writer
	Targets   *targets.Book
	Disputes  *queue.Disputes
	Waits     *queue.Waits
	Metrics   *metrics.Recorder
	// Unassigned is the queue of Ingresses that may have lost their load balancer.
	Unassigned chan event.TypedGenericEvent[types.NamespacedName]
	// DriftInterval is how long an observation is valid, give or take a tenth.
	DriftInterval time.Duration
	// ReadOnly limits writes to reports of plans.
	ReadOnly bool
	// Ended is closed when the operator ends.
	Ended <-chan struct{}
}

// A Reconciler reconciles one load balancer at a time.
type Reconciler struct {
	Parts
	observer
	placer  *gather.Placer
	awaited awaited
	doubts  doubts
	gate    expectations.Gate
	writes  writes
	warmups warmups
	rules   foreignRules
	bounds  bounds
	adopted adopted
	// diff makes plans.
	diff func(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) plan.Plan
	// backlog has the changes that the cloud does not have yet.
	backlog queue.Backlog[lb.Key]
	// wake is the queue of load balancers that other reconcilers and timers enqueue.
	wake chan event.TypedGenericEvent[lb.Key]
}

// New returns a Reconciler without observations.
func New(p Parts) *Reconciler {
	r := &Reconciler{
		Parts:    p,
		diff:     planner.Diff,
		placer:   gather.NewPlacer(p.Gatherer),
		observer: observer{cloud: p.Cloud, every: p.DriftInterval},
		wake:     make(chan event.TypedGenericEvent[lb.Key], 1024),
	}
	r.Unconfirmed = r.doubts.isUnconfirmed
	r.Options.Existing, r.Options.CertificatesOf = r.Existing, p.Records.CertificatesOf
	if !p.ReadOnly {
		r.looked = p.Targets.Recheck
	}
	return r
}

// AwaitedGroups returns the number of target groups that each load balancer waits for.
func (r *Reconciler) AwaitedGroups() map[lb.Key]int { return r.awaited.get() }

// OldestChange returns the age of the oldest change that the cloud does not have yet.
func (r *Reconciler) OldestChange() time.Duration { return r.backlog.Oldest() }

// ReconcileOne enqueues a load balancer.
func (r *Reconciler) ReconcileOne(ctx context.Context, key lb.Key) { r.Awaken(ctx, []lb.Key{key}) }

// Awaken enqueues load balancers.
func (r *Reconciler) Awaken(ctx context.Context, keys []lb.Key) {
	for _, key := range keys {
		select {
		case r.wake <- event.TypedGenericEvent[lb.Key]{Object: key}:
		case <-ctx.Done():
		case <-r.Ended: // the operator ends, and its queue is not read
		}
	}
}

// keep writes a record, cut to the size limit of the API server.
func (r *Reconciler) keep(ctx context.Context, key lb.Key, next *records.Record) error {
	lost, err := next.Trim(v1alpha1.MaxSize)
	if len(lost) > 0 {
		log.FromContext(ctx).Info("the record is full: last accepted versions were dropped",
			"ingresses", lost)
	}
	return errors.Join(err, r.Records.Save(ctx, key, records.CopyOf(next)))
}

// enqueueUnassigned enqueues Ingresses that may have no load balancer, so that events report the
// reason.
func (r *Reconciler) enqueueUnassigned(ctx context.Context, ingresses []string) {
	for _, i := range ingresses {
		who := cluster.RefFrom(cluster.KindIngress, i)
		name := types.NamespacedName{Namespace: who.Namespace, Name: who.Name}
		select {
		case r.Unassigned <- event.TypedGenericEvent[types.NamespacedName]{Object: name}:
		case <-ctx.Done():
		case <-r.Ended: // the operator ends, and its queue is not read
		}
	}
}

// SetRegistered enqueues a load balancer after one of its target groups has got its first targets,
// or lost its last.
func (r *Reconciler) SetRegistered(ctx context.Context, key lb.Key, group lb.GroupID, some bool) {
	r.noteTargets(key, group, some)
	r.Awaken(ctx, []lb.Key{key})
}
