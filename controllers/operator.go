package controllers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file puts the pieces together.

// Options are the choices of whoever runs the operator.
type Options struct {
	Cloud providers.Provider
	// Classes say which Ingresses are ours.
	Classes ingress.Options
	// Namespace is the only one to look after; all of them if it is empty. The manager's cache is
	// to be limited to it.
	Namespace string
	// Secrets says which Secrets may be served; all if it is empty.
	Secrets SecretsMode
	// ReadOnly plans and reports, and writes nothing else, to the cloud or the cluster.
	ReadOnly bool
	// DriftInterval is how long what was seen of the cloud is believed; zero is 10 hours.
	DriftInterval time.Duration
	// OrphanInterval is how often load balancers are looked for that nobody asks for; zero is 10
	// minutes.
	OrphanInterval time.Duration
	// Metrics is where metrics are registered; controller-runtime's registry if it is nil.
	Metrics prometheus.Registerer
	// ManageClass is the IngressClass to make if it is missing; none if it is empty.
	ManageClass string
	// Workers is how many load balancers are reconciled at a time, and TargetWorkers how many
	// target groups; zero is 4.
	Workers, TargetWorkers int
}

// Scheme knows every kind that the operator reads and writes.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}

// Add adds the operator to a manager. It starts with the manager, once this replica is the leader.
func Add(ctx context.Context, m manager.Manager, o Options) error {
	if err := m.GetFieldIndexer().IndexField(ctx, &discoveryv1.EndpointSlice{}, sliceService, serviceOfSlice); err != nil {
		return fmt.Errorf("indexing EndpointSlices by Service: %w", err)
	}
	if o.DriftInterval == 0 {
		o.DriftInterval = 10 * time.Hour
	}
	if o.OrphanInterval == 0 {
		o.OrphanInterval = 10 * time.Minute
	}
	if o.Metrics == nil {
		o.Metrics = ctrlmetrics.Registry
	}
	var kept keeper = newArchive(m.GetAPIReader(), m.GetClient(), o.Namespace)
	if o.ReadOnly {
		kept, o.Cloud = newPreview(m.GetAPIReader(), m.GetClient(), o.Namespace), providers.ReadOnly(o.Cloud)
	}
	r := &reconciler{
		gatherer: &gatherer{
			cache: m.GetClient(), server: m.GetAPIReader(), secrets: secretReader{o.Secrets, m.GetAPIReader()}, directory: newDirectory(),
			memories: newMemories(kept), scope: o.Namespace, options: o.Classes,
		},
		observer: observer{every: o.DriftInterval},
		readOnly: o.ReadOnly,
		writer:   m.GetClient(),
		events:   m.GetEventRecorder("fairlead"),
		targets:  newTargetBook(),
		wake:     make(chan event.TypedGenericEvent[lb.Key], 1024),
		stray:    make(chan event.TypedGenericEvent[types.NamespacedName], 1024),
	}
	strays := &straysReconciler{reconciler: r}
	r.metrics = newMetrics(census{r, strays}.take)
	r.cloud = metered{o.Cloud, r.metrics}
	if err := start(m, "loadbalancers", cmp.Or(o.Workers, 4), r, r.sources(m.GetCache())); err != nil {
		return err
	}
	if err := m.Add(exposition{r.metrics, o.Metrics}); err != nil {
		return fmt.Errorf("adding metrics: %w", err)
	}
	if o.ReadOnly {
		return nil
	}
	targets := &registrar{cache: m.GetClient(), cloud: r.cloud, book: r.targets, forget: r.forget}
	if err := start(m, "targets", cmp.Or(o.TargetWorkers, 4), targets, targets.sources(m.GetCache())); err != nil {
		return err
	}
	if err := m.Add(&sweeper{m.GetAPIReader(), m.GetClient(), o.Namespace}); err != nil {
		return fmt.Errorf("adding the sweeper of plans: %w", err)
	}
	if err := m.Add(&collector{r, o.OrphanInterval, o.Namespace}); err != nil {
		return fmt.Errorf("adding the collector of orphans: %w", err)
	}
	if o.ManageClass != "" {
		class := &classMaker{name: o.ManageClass, cache: m.GetClient(), writer: m.GetClient(), events: r.events, memories: r.memories}
		if err := start(m, "ingressclass", 1, class, class.sources(m.GetCache())); err != nil {
			return err
		}
	}
	return start(m, "strays", 1, strays, strays.sources(m.GetCache()))
}

// start adds one controller.
func start[K comparable](m manager.Manager, name string, parallel int, r reconcile.TypedReconciler[K], sources []source.TypedSource[K]) error {
	unique := true // two operators in one process, as tests have them, share their metrics
	c, err := controller.NewTyped(name, m, controller.TypedOptions[K]{
		Reconciler:              r,
		MaxConcurrentReconciles: parallel,
		SkipNameValidation:      &unique,
		LogConstructor: func(k *K) logr.Logger {
			l := m.GetLogger().WithName(name)
			if k != nil {
				l = l.WithValues("key", fmt.Sprint(*k))
			}
			return l
		},
	})
	if err != nil {
		return fmt.Errorf("making the controller of %s: %w", name, err)
	}
	for _, s := range sources {
		if err := c.Watch(s); err != nil {
			return fmt.Errorf("watching for %s: %w", name, err)
		}
	}
	return nil
}
