package loadbalancer

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"fairlead.dev/fairlead/controllers/disputes"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/targets"
	"fairlead.dev/fairlead/controllers/waits"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// Parts are what a Reconciler is made of, and shares with other reconcilers.
type Parts struct {
	*gather.Gatherer
	Cloud     providers.Provider
	Events    *events.Recorder
	Ingresses *ingresses.Writer
	Targets   *targets.Book
	Disputes  *disputes.Disputes
	Waits     *waits.Waits
	Metrics   *metrics.Recorder
	// Unassigned is the queue of Ingresses that may belong to no load balancer from now on.
	Unassigned chan event.TypedGenericEvent[types.NamespacedName]
	// DriftInterval is for how long an observation is believed, give or take a tenth.
	DriftInterval time.Duration
	// ReadOnly says that plans are reported, and nothing else is written.
	ReadOnly bool
	// Ended is closed when the operator ends.
	Ended <-chan struct{}
}

// A Reconciler reconciles one load balancer at a time.
type Reconciler struct {
	Parts
	observer
	awaited awaited
	doubts  doubts
	writes  writes
	warmups warmups
	rules   foreignRules
	// backlog is the changes that the cloud does not have yet.
	backlog queue.Backlog[lb.Key]
	// wake is the queue of load balancers that others make reconcile.
	wake chan event.TypedGenericEvent[lb.Key]
}

// New returns a Reconciler that has observed nothing.
func New(p Parts) *Reconciler {
	r := &Reconciler{
		Parts:    p,
		observer: observer{cloud: p.Cloud, every: p.DriftInterval},
		wake:     make(chan event.TypedGenericEvent[lb.Key], 1024),
	}
	r.Unconfirmed = r.doubts.about
	if !p.ReadOnly {
		r.looked = p.Targets.Recheck
	}
	return r
}

// OldestChange returns how old the oldest change is that the cloud does not have yet.
func (r *Reconciler) OldestChange() time.Duration { return r.backlog.Oldest() }

// ReconcileOne has a load balancer reconciled.
func (r *Reconciler) ReconcileOne(ctx context.Context, key lb.Key) { r.Awaken(ctx, []lb.Key{key}) }
