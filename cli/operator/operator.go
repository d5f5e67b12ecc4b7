// Package operator runs the operator in this process, with its settings, its lease and its log.
package operator

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/metrics"
)

// This file starts the operator and stops it.

// Run runs the operator until the context ends.
func (o *Settings) Run(ctx context.Context, with access.Clouds, logs io.Writer) error {
	handler := o.Logs(logs)
	logger := logr.FromSlogHandler(handler)
	libraries := logr.FromSlogHandler(quiet{handler})
	log.SetLogger(libraries)
	klog.SetLoggerWithOptions(libraries, klog.ContextualLogger(true))
	classes, err := o.Classes()
	if err != nil {
		return err
	}
	config, err := o.Cluster.Config()
	if err != nil {
		return err
	}
	config.WarningHandler = &warner{logger: logger}
	config.Wrap((&silence{logger: logger}).watch)
	logger.Info("starting", "version", Version(), "provider", o.Provider.String(),
		"cluster", config.Host, "namespace", cmp.Or(o.Cluster.Namespace, "all"),
		"readOnly", o.readOnly, "leaderElect", o.leaderElect)
	limitMemory(logger, memlimit.FromCgroup)
	requests, reads := metrics.NewRequests(), &metrics.Reads{}
	around := o.Environment()
	around.OnRequest, around.OnInFlight, around.Log = requests.Count, requests.SetInFlight, logger
	cloud, err := o.Provider.Live(ctx, with, around)
	if err != nil {
		return err
	}
	defer cloud.Close()
	for _, forgone := range o.Provider.DisabledFeatures(with) {
		logger.Info(forgone)
	}
	t := term{o, classes, config, cloud, requests, reads, logger, libraries}
	if err := t.serve(ctx); err != nil {
		return err
	}
	logger.Info("stopped")
	return nil
}

// runUntilStopped runs a manager until the context ends, and waits until it has stopped. A manager
// that is stopped before its caches are filled, because the API server does not answer or reading
// is forbidden, never returns. It has begun no work, and need not be waited for.
func runUntilStopped(
	ctx context.Context, run func(context.Context) error, filled func() bool, timeout time.Duration,
) error {
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	if !filled() {
		timeout = 0
	}
	late := time.NewTimer(timeout + time.Second)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
	}
	if timeout == 0 {
		return nil
	}
	return fmt.Errorf("stopping: what was under way is not done after %s", timeout)
}

// manager returns the options of the manager that runs the controllers.
func (o *Settings) manager(logger logr.Logger) manager.Options {
	return manager.Options{
		Scheme:                        cluster.NewScheme(),
		Logger:                        logger,
		LeaderElection:                o.leaderElect,
		LeaseDuration:                 &o.leaseLasts,
		RenewDeadline:                 &o.leaseRenewed,
		RetryPeriod:                   new(o.leaseRetried()),
		LeaderElectionReleaseOnCancel: true, // nothing works on without the lease
		Metrics:                       metricsserver.Options{BindAddress: o.metrics},
		HealthProbeBindAddress:        o.probes,
		PprofBindAddress:              o.pprof,
		GracefulShutdownTimeout:       &o.Shutdown,
		Cache:                         cluster.Cache(cluster.SecretsMode(o.secrets), o.Cluster.Namespace),
	}
}

// LeaseName returns the name of the lease that one replica holds. Operators that serve a namespace
// each can run in one namespace, and a read-only one beside each of them: each has a lease of its
// own.
func (o *Settings) LeaseName() string {
	name := "fairlead"
	if o.Cluster.Namespace != "" {
		name += "-" + o.Cluster.Namespace
	}
	if o.readOnly {
		name += ".read-only"
	}
	return name
}

// addProbes adds a liveness probe, which passes while the process answers, and a readiness probe,
// which passes once the caches are filled.
func addProbes(m manager.Manager) error {
	if err := m.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health probe: %w", err)
	}
	if err := m.AddReadyzCheck("caches", cluster.Ready(m.GetCache())); err != nil {
		return fmt.Errorf("adding the readiness probe: %w", err)
	}
	return nil
}
