package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	clientevents "k8s.io/client-go/tools/events"

	"fairlead.dev/fairlead/controllers/defaultclass"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file puts the pieces together.

// Options are the choices of whoever runs the operator.
type Options struct {
	Cloud providers.Provider
	// Logger is for what the operator itself says; the manager's if it is empty.
	Logger logr.Logger
	// Classes say which Ingresses are ours.
	Classes ingress.Options
	// Namespace is the only one to look after; all of them if it is empty. The manager's cache is
	// to be limited to it.
	Namespace string
	// Secrets says which Secrets may be served; all if it is empty.
	Secrets cluster.SecretsMode
	// ReadinessGates has Pods made ready that declare v1alpha1.TargetHealthGate.
	ReadinessGates bool
	// ReadinessTimeout is how long such a Pod waits at the most; zero is 10 minutes.
	ReadinessTimeout time.Duration
	// VanishedGrace is for how long an Ingress is served that is gone without having been let go of; zero is not at all.
	VanishedGrace time.Duration
	// ReadOnly plans and reports, and writes nothing else, to the cloud or the cluster.
	ReadOnly bool
	// Paused are the keys of load balancers that are planned, and not changed.
	Paused []string
	// DriftInterval is how long what was seen of the cloud is believed; zero is 10 hours.
	DriftInterval time.Duration
	// OrphanInterval is how often load balancers are looked for that nobody asks for; zero is 10
	// minutes.
	OrphanInterval time.Duration
	// Metrics is where metrics are registered; controller-runtime's registry if it is nil.
	Metrics prometheus.Registerer
	// Requests is where the cloud's provider counts its requests; nil if it does not.
	Requests *metrics.Requests
	// ManageClass is the IngressClass to make if it is missing; none if it is empty.
	ManageClass string
	// Workers is how many load balancers are reconciled at a time, and TargetWorkers how many
	// target groups; zero is 4.
	Workers, TargetWorkers int
	// Version says which Fairlead this is; empty for unknown.
	Version string
	// Term names this operator for as long as it has the lease; empty where there is no election.
	Term string
	// May returns why this operator may not write now, as another may have the lease; nil where there is no election.
	May func() error
	// ReconcileTimeout is how long a load balancer is worked on before the next one's turn; zero is 10 minutes.
	ReconcileTimeout time.Duration
}

// Add adds the operator to a manager. It starts with the manager: its caches at once, and its work
// when this replica is the leader.
func Add(ctx context.Context, m manager.Manager, o Options) error {
	if err := installed(m.GetRESTMapper()); err != nil {
		return err
	}
	if err := m.GetFieldIndexer().IndexField(ctx, &discoveryv1.EndpointSlice{}, cluster.SliceService, cluster.ServiceOfSlice); err != nil {
		return fmt.Errorf("indexing EndpointSlices by Service: %w", err)
	}
	if err := m.GetFieldIndexer().IndexField(ctx, &discoveryv1.EndpointSlice{}, cluster.SlicePods, cluster.PodsOfSlice); err != nil {
		return fmt.Errorf("indexing EndpointSlices by Pod: %w", err)
	}
	pods := cluster.NewPodReader(m.GetClient(), o.ReadinessGates)
	if o.DriftInterval == 0 {
		o.DriftInterval = 10 * time.Hour
	}
	if o.OrphanInterval == 0 {
		o.OrphanInterval = 10 * time.Minute
	}
	if o.Logger.IsZero() {
		o.Logger = m.GetLogger()
	}
	if o.Metrics == nil {
		o.Metrics = ctrlmetrics.Registry
	}
	var kept records.Keeper = records.NewStore(m.GetAPIReader(), m.GetClient(), o.Namespace).InTerm(o.Term, o.May)
	if o.ReadOnly {
		kept, o.Cloud = records.NewPlannedStore(m.GetAPIReader(), m.GetClient(), o.Namespace), providers.ReadOnly(o.Cloud)
	}
	r := &reconciler{
		gatherer: &gatherer{
			cache: m.GetClient(), server: m.GetAPIReader(), secrets: cluster.NewSecretReader(o.Secrets, m.GetAPIReader(), m.GetClient()), directory: cluster.NewDependencies(),
			pods: pods, memories: records.NewCache(kept, o.ReadOnly), scope: o.Namespace, options: o.Classes, paused: o.Paused, grace: o.VanishedGrace,
			judged: &cluster.CertificateCache{}, doubts: &doubts{},
		},
		observer: observer{every: o.DriftInterval},
		readOnly: o.ReadOnly,
		writer:   m.GetClient(),
		events:   events.NewRecorder(m.GetClient(), m.GetAPIReader()),
		targets:  newTargetBook(),
		late:     &queue.Backlog[groupKey]{},
		ended:    ctx.Done(),
		wake:     make(chan event.TypedGenericEvent[lb.Key], 1024),
		stray:    make(chan event.TypedGenericEvent[types.NamespacedName], 1024),
	}
	r.targets.ended = ctx.Done()
	if !o.ReadOnly {
		r.looked = r.targets.doubt
	}
	strays := &straysReconciler{reconciler: r}
	if o.Requests == nil {
		o.Requests = metrics.NewRequests()
	}
	r.metrics = metrics.NewRecorder(o.Requests, o.Version, census{r, strays}.take)
	r.cloud = metrics.Metered(o.Cloud, r.metrics)
	if err := m.Add(metrics.NewExposition(r.metrics, o.Metrics)); err != nil {
		return fmt.Errorf("adding metrics: %w", err)
	}
	liveness := queue.NewLiveness(cmp.Or(o.ReconcileTimeout, 10*time.Minute))
	if err := m.AddHealthzCheck("workers", liveness.Check); err != nil {
		return fmt.Errorf("adding the health probe: %w", err)
	}
	caches := cluster.NewCatchUp(m.GetCache(), m.GetAPIReader(), o.Namespace, m.GetScheme(), o.Logger)
	balancerLoop := queue.Controller[lb.Key]{
		Liveness: liveness, Caches: caches,
		Name: queue.BalancersLoop, Parallel: cmp.Or(o.Workers, 4), Reconciler: r, Sources: r.sources(m.GetCache()),
		About:  func(key lb.Key) []any { return []any{"loadBalancer", key} },
		Gather: o.Cloud.Capabilities(lb.Class{}).Gather, Queued: r.queued,
	}
	if err := balancerLoop.AddTo(ctx, m, o.Logger); err != nil || o.ReadOnly {
		return err
	}
	targets := &registrar{cache: m.GetClient(), pods: pods, cloud: r.cloud, book: r.targets, disputes: &r.disputes, disputed: r.crowded, waiting: &r.waiting, waits: r.waitsLong, backlog: r.late, took: r.metrics.Took(queue.TargetsLoop), registered: r.registered, crowded: r.crowded}
	registrarLoop := queue.Controller[groupKey]{
		Liveness: liveness, Caches: caches,
		Name: queue.TargetsLoop, Parallel: cmp.Or(o.TargetWorkers, 4), Reconciler: targets, Sources: targets.sources(m.GetCache()),
		About: func(k groupKey) []any { return []any{"loadBalancer", k.key, "targetGroup", k.id} },
	}
	straysLoop := queue.Controller[types.NamespacedName]{
		Liveness: liveness, Caches: caches,
		Name: "strays", Parallel: 1, Reconciler: strays, Sources: strays.sources(m.GetCache()),
		About: func(name types.NamespacedName) []any { return []any{"ingress", name.String()} },
	}
	if err := errors.Join(registrarLoop.AddTo(ctx, m, o.Logger), straysLoop.AddTo(ctx, m, o.Logger)); err != nil {
		return err
	}
	if o.ReadinessGates {
		gates := &gatekeeper{reconciler: r, limit: cmp.Or(o.ReadinessTimeout, 10*time.Minute)}
		gatesLoop := queue.Controller[types.NamespacedName]{
			Liveness: liveness, Caches: caches,
			Name: "gates", Parallel: cmp.Or(o.TargetWorkers, 4), Reconciler: gates, Sources: gates.sources(m.GetCache()),
			About: func(name types.NamespacedName) []any { return []any{"pod", name.String()} },
		}
		if err := gatesLoop.AddTo(ctx, m, o.Logger); err != nil {
			return err
		}
	}
	if err := m.Add(records.NewSweeper(m.GetAPIReader(), m.GetClient(), o.Namespace)); err != nil {
		return fmt.Errorf("adding the sweeper of plans: %w", err)
	}
	if err := m.Add(&collector{r, o.OrphanInterval, o.Namespace, &sightings{reader: m.GetAPIReader(), writer: m.GetClient(), scope: o.Namespace}}); err != nil {
		return fmt.Errorf("adding the collector of orphans: %w", err)
	}
	if o.ManageClass != "" {
		var recorder clientevents.EventRecorder
		if o.Namespace == "" {
			recorder = m.GetEventRecorder("fairlead")
		}
		class, sources := defaultclass.New(o.ManageClass, m.GetCache(), m.GetClient(), recorder, r.memories)
		classLoop := queue.Controller[string]{
			Liveness: liveness, Caches: caches,
			Name: "ingressclass", Parallel: 1, Reconciler: class, Sources: sources,
			About: func(name string) []any { return []any{"ingressClass", name} },
		}
		return classLoop.AddTo(ctx, m, o.Logger)
	}
	return nil
}

// installed checks that the cluster has our kinds. Without them nothing starts, for reasons that do
// not say what to do.
func installed(known meta.RESTMapper) error {
	for _, kind := range []string{v1alpha1.KindBackend, v1alpha1.KindClusterLoadBalancerClass, v1alpha1.KindLoadBalancerClass, v1alpha1.KindLoadBalancer} {
		if _, err := known.RESTMapping(v1alpha1.GroupVersion.WithKind(kind).GroupKind(), v1alpha1.GroupVersion.Version); err != nil {
			return fmt.Errorf("looking for the kinds that config/crd installs: %w", err)
		}
	}
	return nil
}
