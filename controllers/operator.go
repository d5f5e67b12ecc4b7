package controllers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/bindings"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/loadbalancer"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/readiness"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/controllers/targets"
	"fairlead.dev/fairlead/controllers/unassigned"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file wires the operator.

// Options are the settings of the operator.
type Options struct {
	Cloud providers.Provider
	// Logger is the logger of the operator itself; the manager's if it is empty.
	Logger logr.Logger
	// Classes decides which Ingresses are ours.
	Classes ingress.ClassOptions
	// Namespace limits the operator to one namespace; empty for all. The manager's cache has to be
	// limited to it.
	Namespace string
	// Secrets says which Secrets may be served; all if it is empty.
	Secrets cluster.SecretsMode
	// ReadinessGates opens the gates of Pods that declare v1alpha1.TargetHealthGate.
	ReadinessGates bool
	// ReadinessTimeout is how long such a Pod waits at most; zero is 10 minutes.
	ReadinessTimeout time.Duration
	// VanishedGrace is how long an Ingress that was removed without the operator is still served.
	VanishedGrace time.Duration
	// ReadOnly limits writes to reports of plans.
	ReadOnly bool
	// Paused are the keys of load balancers that are planned, and not changed.
	Paused []string
	// DriftInterval is how long an observation of the cloud is valid; zero is 10 hours.
	DriftInterval time.Duration
	// OrphanInterval is the time between two searches for orphans; zero is 10 minutes.
	OrphanInterval time.Duration
	// Metrics is where metrics are registered; controller-runtime's registry if it is nil.
	Metrics prometheus.Registerer
	// Requests is where the cloud's provider counts its requests; nil if it does not.
	Requests *metrics.Requests
	// Reads counts the reads of the manager's client; nil if they are not counted.
	Reads *metrics.Reads
	// ManageClass is the IngressClass to create if it is missing; empty for none.
	ManageClass string
	// Workers is how many load balancers are reconciled at a time, and how many target groups;
	// zero is 4.
	Workers int
	// Version is the version of Fairlead; empty for unknown.
	Version string
	// Term names this operator while it has the lease; empty without election.
	Term string
	// CheckLease returns an error if another operator may have the lease; nil without election.
	CheckLease func() error
	// ReconcileTimeout is how long a load balancer is reconciled before the next one's turn; zero is
	// 10 minutes.
	ReconcileTimeout time.Duration
}

// Add adds the operator to a manager. It starts with the manager: its caches at once, and its work
// when this replica is the leader.
func Add(ctx context.Context, m manager.Manager, o Options) error {
	if err := checkInstalled(m.GetRESTMapper()); err != nil {
		return err
	}
	for _, i := range cluster.Indexes() {
		if err := m.GetFieldIndexer().IndexField(ctx, i.Of, i.Field, i.Values); err != nil {
			return fmt.Errorf("adding the index %q: %w", i.Field, err)
		}
	}
	w, err := newWiring(ctx, m, o)
	if err != nil {
		return err
	}
	balancers := loadbalancer.New(w.Parts)
	w.Expectations.Changed = func(changed cluster.Ref) {
		balancers.Awaken(ctx, w.Directory.DependentsOf(changed))
	}
	leftOver := &unassigned.Reconciler{
		Placer: gather.NewPlacer(w.Gatherer), Events: w.Events, Ingresses: w.Ingresses,
		Queue: w.Unassigned,
	}
	w.gauges.Balancers, w.gauges.Unassigned = balancers, leftOver
	if err := m.Add(metrics.NewExposition(w.Metrics, w.options.Metrics)); err != nil {
		return fmt.Errorf("adding metrics: %w", err)
	}
	if err := m.AddHealthzCheck("workers", w.liveness.Check); err != nil {
		return fmt.Errorf("adding the health probe: %w", err)
	}
	if err := w.addLoadBalancers(ctx, balancers); err != nil {
		return err
	}
	if err := w.addAdopter(); err != nil || w.ReadOnly {
		return err
	}
	for _, add := range []func(context.Context, *loadbalancer.Reconciler) error{
		w.addTargets, w.addBindings, w.addGates, w.addSweeper, w.addOrphans, w.addClass,
	} {
		if err := add(ctx, balancers); err != nil {
			return err
		}
	}
	return w.addUnassigned(ctx, leftOver)
}

// A wiring holds the parts that the controllers of one operator share.
type wiring struct {
	manager.Manager
	loadbalancer.Parts
	options  Options
	liveness *queue.Liveness
	caches   *cluster.CatchUp
	gauges   *gauges
	bindings *bindings.Reconciler
	server   client.WithWatch // the API server itself
}

func newWiring(ctx context.Context, m manager.Manager, o Options) (*wiring, error) {
	o = o.withDefaults(m)
	watcher, err := client.NewWithWatch(m.GetConfig(), client.Options{
		Scheme: m.GetScheme(), Mapper: m.GetRESTMapper(), HTTPClient: m.GetHTTPClient(),
	})
	if err != nil {
		return nil, fmt.Errorf("making the client that watches expectations: %w", err)
	}
	w := &wiring{
		Manager: m, options: o, server: watcher,
		liveness: queue.NewLiveness(cmp.Or(o.ReconcileTimeout, 10*time.Minute)),
		caches: cluster.NewCatchUp(m.GetCache(), m.GetAPIReader(), o.Namespace,
			m.GetScheme(), o.Logger),
		Parts: loadbalancer.Parts{
			Gatherer: newGatherer(m, o), Events: events.NewRecorder(m.GetClient(), m.GetAPIReader()),
			Ingresses: ingresses.NewWriter(m.GetClient()), Targets: targets.NewBook(ctx.Done()),
			Disputes: &queue.Disputes{}, Waits: &queue.Waits{},
			Unassigned:    make(chan event.TypedGenericEvent[types.NamespacedName], 1024),
			DriftInterval: o.DriftInterval, ReadOnly: o.ReadOnly, Ended: ctx.Done(),
		},
	}
	w.gauges = &gauges{Gatherer: w.Gatherer, Waits: w.Waits}
	w.Parts.Metrics = metrics.NewRecorder(o.Requests, o.Reads, o.Version, w.gauges.Take)
	w.Cloud = metrics.Metered(o.Cloud, w.Metrics)
	w.Expectations = expectations.NewReader(m.GetAPIReader(), watcher, ctx.Done())
	w.Optional, err = cluster.NewOptional(ctx, m.GetRESTMapper(), m.GetCache(), o.Logger)
	if err != nil {
		return nil, err
	}
	if err := m.Add(w.Optional); err != nil {
		return nil, fmt.Errorf("adding the search for kinds of other controllers: %w", err)
	}
	return w, nil
}

func (o Options) withDefaults(m manager.Manager) Options {
	o.DriftInterval = cmp.Or(o.DriftInterval, 10*time.Hour)
	o.OrphanInterval = cmp.Or(o.OrphanInterval, 10*time.Minute)
	if o.Logger.IsZero() {
		o.Logger = m.GetLogger()
	}
	if o.Metrics == nil {
		o.Metrics = ctrlmetrics.Registry
	}
	if o.Requests == nil {
		o.Requests = metrics.NewRequests()
	}
	if o.Reads == nil {
		o.Reads = &metrics.Reads{}
	}
	if o.ReadOnly {
		o.Cloud = providers.ReadOnly(o.Cloud)
	}
	return o
}

// newGatherer returns the reader of the cluster and the records.
func newGatherer(m manager.Manager, o Options) *gather.Gatherer {
	var store records.Store = records.NewStore(m.GetAPIReader(), m.GetClient(),
		o.Namespace).InTerm(o.Term, o.CheckLease)
	if o.ReadOnly {
		store = records.NewPlannedStore(m.GetAPIReader(), m.GetClient(), o.Namespace)
	}
	o.Classes.Check, o.Classes.NGINX = (&gather.Checks{}).CheckOnce, &gather.Memory{}
	return &gather.Gatherer{
		Cache: m.GetClient(), Server: m.GetAPIReader(), Directory: cluster.NewDependencies(),
		Secrets: cluster.NewSecretReader(o.Secrets, m.GetAPIReader(), m.GetClient()),
		Pods:    cluster.NewPodReader(m.GetClient(), o.ReadinessGates),
		Records: records.NewCache(store, o.ReadOnly), Certificates: &cluster.CertificateCache{},
		Adoptions: records.NewAdoptionStore(m.GetAPIReader(), m.GetClient(), o.Namespace).InTerm(o.CheckLease),
		Scope:     o.Namespace, Options: o.Classes, Paused: o.Paused, Grace: o.VanishedGrace,
	}
}

func (w *wiring) addLoadBalancers(ctx context.Context, r *loadbalancer.Reconciler) error {
	return queue.Controller[lb.Key]{
		Liveness: w.liveness, Caches: w.caches,
		Name: queue.BalancersLoop, Parallel: cmp.Or(w.options.Workers, 4), Reconciler: r,
		Sources: r.Sources(w.GetCache()),
		About:   func(key lb.Key) []any { return []any{"loadBalancer", key} },
		Gather:  w.Cloud.Capabilities(lb.Class{}).Gather, Queued: r.Queued,
	}.AddTo(ctx, w, w.options.Logger)
}

func (w *wiring) addBindings(ctx context.Context, _ *loadbalancer.Reconciler) error {
	return queue.Controller[types.NamespacedName]{
		Liveness: w.liveness, Caches: w.caches,
		Name: "bindings", Parallel: cmp.Or(w.options.Workers, 4), Reconciler: w.bindings,
		Sources: w.bindings.Sources(w.GetCache()),
		About:   func(name types.NamespacedName) []any { return []any{"targetGroupBinding", name.String()} },
	}.AddTo(ctx, w, w.options.Logger)
}

func (w *wiring) addTargets(ctx context.Context, r *loadbalancer.Reconciler) error {
	w.bindings = &bindings.Reconciler{
		Gatherer: w.Gatherer, Events: w.Events, Book: w.Targets, Waits: w.Waits, Disputes: w.Disputes,
		Memories: bindings.NewMemories(records.NewBindingStore(w.GetAPIReader(), w.GetClient(), w.options.Namespace).
			InTerm(w.options.Term, w.options.CheckLease)),
		Writer: w.GetClient(), Cloud: w.Cloud, Interval: w.DriftInterval,
		Wake: make(chan event.TypedGenericEvent[types.NamespacedName], 1024),
	}
	targets := &targets.Reconciler{
		Cache: w.GetClient(), Pods: w.Pods, Cloud: w.Cloud, Book: w.Targets, Disputes: w.Disputes,
		Waiting: w.Waits, Backlog: &w.gauges.TargetBacklog,
		ObserveTook: w.Metrics.Took(queue.TargetsLoop), Remember: w.bindings.Remember, Remembered: w.bindings.Memories.Remembered,
		SetRegistered: func(ctx context.Context, key lb.Key, group lb.GroupID, some bool) {
			if _, _, bound := key.Binding(); bound {
				w.bindings.Report(ctx, key)
			} else {
				r.SetRegistered(ctx, key, group, some)
			}
		},
		ReconcileLater: func(ctx context.Context, key lb.Key) {
			if _, _, bound := key.Binding(); bound {
				w.bindings.Report(ctx, key)
			} else {
				r.ReconcileOne(ctx, key)
			}
		},
	}
	return queue.Controller[lb.GroupKey]{
		Liveness: w.liveness, Caches: w.caches,
		Name: queue.TargetsLoop, Parallel: cmp.Or(w.options.Workers, 4), Reconciler: targets,
		Sources: targets.Sources(w.GetCache()),
		About:   func(k lb.GroupKey) []any { return []any{"loadBalancer", k.Key, "targetGroup", k.ID} },
	}.AddTo(ctx, w, w.options.Logger)
}

func (w *wiring) addUnassigned(ctx context.Context, u *unassigned.Reconciler) error {
	return queue.Controller[types.NamespacedName]{
		Liveness: w.liveness, Caches: w.caches,
		Name: "unassigned", Parallel: 1, Reconciler: u, Sources: u.Sources(w.GetCache()),
		About: func(name types.NamespacedName) []any { return []any{"ingress", name.String()} },
	}.AddTo(ctx, w, w.options.Logger)
}

func (w *wiring) addGates(ctx context.Context, r *loadbalancer.Reconciler) error {
	if !w.options.ReadinessGates {
		return nil
	}
	gates := &readiness.Reconciler{
		Gatherer: w.Gatherer, Events: w.Events, Targets: w.Targets, Writer: w.GetClient(), Cloud: w.Cloud,
		Limit: cmp.Or(w.options.ReadinessTimeout, 10*time.Minute),
	}
	return queue.Controller[types.NamespacedName]{
		Liveness: w.liveness, Caches: w.caches,
		Name: "gates", Parallel: cmp.Or(w.options.Workers, 4), Reconciler: gates,
		Sources: gates.Sources(w.GetCache()),
		About:   func(name types.NamespacedName) []any { return []any{"pod", name.String()} },
	}.AddTo(ctx, w, w.options.Logger)
}

func (w *wiring) addSweeper(context.Context, *loadbalancer.Reconciler) error {
	if err := w.Add(records.NewSweeper(w.GetAPIReader(), w.GetClient(),
		w.options.Namespace)); err != nil {
		return fmt.Errorf("adding the sweeper of plans: %w", err)
	}
	return nil
}

func (w *wiring) addOrphans(_ context.Context, r *loadbalancer.Reconciler) error {
	collector := &OrphanCollector{
		Gatherer: w.Gatherer, Cloud: w.Cloud, Interval: w.options.OrphanInterval,
		Sightings: newOrphanSightings(w.GetAPIReader(), w.GetClient(), w.options.Namespace),
		Count:     w.gauges.Orphans.Set, Reconcile: r.Awaken,
	}
	if err := w.Add(collector); err != nil {
		return fmt.Errorf("adding the collector of orphans: %w", err)
	}
	return nil
}

// addAdopter adds what takes load balancers over, for clouds that know those of others.
func (w *wiring) addAdopter() error {
	if _, can := providers.AdopterOf(w.Cloud, ""); !can {
		return nil
	}
	adopter := &Adopter{Gatherer: w.Gatherer, Cloud: w.Cloud, Kube: w.server, Events: w.Events, Informers: w.GetCache(),
		ReadOnly: w.ReadOnly}
	if err := w.Add(adopter); err != nil {
		return fmt.Errorf("adding what takes load balancers over: %w", err)
	}
	return nil
}

func (w *wiring) addClass(ctx context.Context, r *loadbalancer.Reconciler) error {
	if w.options.ManageClass == "" {
		return nil
	}
	var recorder clientevents.EventRecorder
	if w.options.Namespace == "" {
		recorder = w.GetEventRecorder("fairlead")
	}
	class, sources := newManagedClass(w.options.ManageClass, w.GetCache(), w.GetClient(),
		recorder, w.Records)
	return queue.Controller[string]{
		Liveness: w.liveness, Caches: w.caches,
		Name: "ingressclass", Parallel: 1, Reconciler: class, Sources: sources,
		About: func(name string) []any { return []any{"ingressClass", name} },
	}.AddTo(ctx, w, w.options.Logger)
}

// checkInstalled checks that the cluster has our kinds, since later errors would not say how to
// install them.
func checkInstalled(known meta.RESTMapper) error {
	for _, kind := range []string{v1alpha1.KindBackend, v1alpha1.KindClusterLoadBalancerClass,
		v1alpha1.KindLoadBalancerClass, v1alpha1.KindLoadBalancer} {
		if _, err := known.RESTMapping(v1alpha1.GroupVersion.WithKind(kind).GroupKind(),
			v1alpha1.GroupVersion.Version); err != nil {
			return fmt.Errorf("looking for the kinds that config/crd installs: %w", err)
		}
	}
	return nil
}
