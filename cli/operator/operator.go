// Package operator runs the operator in this process, with its settings, its lease and its log.
package operator

import (
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"fairlead.dev/fairlead/cli/selection"
	"fairlead.dev/fairlead/cli/version"
	"fairlead.dev/fairlead/controllers"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/metrics"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Run runs the operator until the context ends.
func (o *Settings) Run(ctx context.Context, with selection.Clouds, logs io.Writer) error {
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
	config.Wrap((&listener{logger: logger}).hear)
	logger.Info("starting", "version", version.String(), "provider", o.Provider.String(), "cluster", config.Host,
		"namespace", cmp.Or(o.Cluster.Namespace, "all"), "readOnly", o.readOnly, "leaderElect", o.leaderElect)
	requests := metrics.NewRequests()
	around := o.Surroundings()
	around.Requested, around.Log = requests.Count, logger
	cloud, err := o.Provider.Live(ctx, with, around)
	if err != nil {
		return err
	}
	defer cloud.Close()
	for _, forgone := range o.Provider.Forgone(with) {
		logger.Info(forgone)
	}
	t := term{o, classes, config, cloud, requests, logger, libraries}
	if err := t.serve(ctx); err != nil {
		return err
	}
	logger.Info("stopped")
	return nil
}

// untilTold runs what ends with the context, or soon after. A manager that is told to stop before
// its caches are filled, because nobody answers or it may not read, never returns: there is nothing
// of it to wait for, for no work has begun.
func untilTold(ctx context.Context, run func(context.Context) error, filled func() bool, patience time.Duration) error {
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	if !filled() {
		patience = 0
	}
	late := time.NewTimer(patience + time.Second)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
	}
	if patience == 0 {
		return nil
	}
	return fmt.Errorf("stopping: what was under way is not done after %s", patience)
}

// manager is what runs the controllers.
func (o *Settings) manager(logger logr.Logger) manager.Options {
	return manager.Options{
		Scheme:                        controllers.Scheme(),
		Logger:                        logger,
		LeaderElection:                o.leaderElect,
		LeaseDuration:                 &o.leaseLasts,
		RenewDeadline:                 &o.leaseRenewed,
		RetryPeriod:                   &o.leaseRetried,
		LeaderElectionReleaseOnCancel: true, // nothing works on without the lease
		Metrics:                       metricsserver.Options{BindAddress: o.metrics},
		HealthProbeBindAddress:        o.probes,
		PprofBindAddress:              o.pprof,
		GracefulShutdownTimeout:       &o.Shutdown,
		Cache:                         cluster.Cache(cluster.SecretsMode(o.secrets), o.Cluster.Namespace),
	}
}

// LeaseName is the name of the lease that one replica holds: operators that look after a namespace
// each may stand in the same one, and one that only plans beside each of them. All of them are to
// work.
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

// addProbes says that the process lives as long as it answers, and is ready once its caches are.
func addProbes(m manager.Manager) error {
	if err := m.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health probe: %w", err)
	}
	if err := m.AddReadyzCheck("caches", cluster.Ready(m.GetCache())); err != nil {
		return fmt.Errorf("adding the readiness probe: %w", err)
	}
	return nil
}
