package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/scheme"
)

// This file is the operator's command line.

func newRun(with Providers) *cobra.Command {
	var o running
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Be the operator: serve the Ingresses of a cluster",
		Long: `Watch the Ingresses of a cluster, keep a load balancer for each of them or for each group,
and write where it is reached into their status.

Each flag can also be a variable of the environment, --drift-interval as FAIRLEAD_DRIFT_INTERVAL, or a
line of the file that --config names, drift-interval: 10h. A flag wins over the environment, which wins
over the file.`,
		Example: `  # In a cluster, two replicas of which one works
  fairlead run --leader-elect

  # Beside another controller, to see what would be done
  fairlead run --read-only

  # On this machine, against the cluster of the current kubeconfig
  fairlead run --provider fake --fake-state fairlead.state.json --log-format console`,
		Args: cobra.NoArgs,
	}
	settings := o.settings(with)
	layered(cmd, settings)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		from, err := settle(cmd, settings, os.Environ())
		if err != nil {
			return err
		}
		if show, err := cmd.Flags().GetBool("print-config"); err != nil || show {
			return errors.Join(err, printSettings(cmd.OutOrStdout(), settings, from))
		}
		return o.run(cmd.Context(), with, cmd.ErrOrStderr())
	}
	return cmd
}

// run runs the operator until the context ends.
func (o *running) run(ctx context.Context, with Providers, logs io.Writer) error {
	handler := o.logs(logs)
	logger := logr.FromSlogHandler(handler)
	libraries := logr.FromSlogHandler(quiet{handler})
	log.SetLogger(libraries)
	klog.SetLoggerWithOptions(libraries, klog.ContextualLogger(true))
	classes, err := o.classes()
	if err != nil {
		return err
	}
	config, err := o.home.config()
	if err != nil {
		return err
	}
	config.WarningHandler = &warner{logger: logger}
	config.Wrap((&listener{logger: logger}).hear)
	logger.Info("starting", "version", source(), "provider", o.provider.String(), "cluster", config.Host,
		"namespace", cmp.Or(o.home.namespace, "all"), "readOnly", o.readOnly, "leaderElect", o.leaderElect)
	requests := metrics.NewRequests()
	around := o.surroundings()
	around.Requested, around.Log = requests.Count, logger
	cloud, err := o.provider.live(ctx, with, around)
	if err != nil {
		return err
	}
	defer cloud.Close()
	for _, forgone := range o.provider.forgone(with) {
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
func (o *running) manager(logger logr.Logger) manager.Options {
	return manager.Options{
		Scheme:                        scheme.New(),
		Logger:                        logger,
		LeaderElection:                o.leaderElect,
		LeaseDuration:                 &o.leaseLasts,
		RenewDeadline:                 &o.leaseRenewed,
		RetryPeriod:                   &o.leaseRetried,
		LeaderElectionReleaseOnCancel: true, // nothing works on without the lease
		Metrics:                       metricsserver.Options{BindAddress: o.metrics},
		HealthProbeBindAddress:        o.probes,
		PprofBindAddress:              o.pprof,
		GracefulShutdownTimeout:       &o.shutdown,
		Cache:                         cluster.Cache(cluster.SecretsMode(o.secrets), o.home.namespace),
	}
}

// leaseName is the name of the lease that one replica holds: operators that look after a namespace
// each may stand in the same one, and one that only plans beside each of them. All of them are to
// work.
func (o *running) leaseName() string {
	name := "fairlead"
	if o.home.namespace != "" {
		name += "-" + o.home.namespace
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
