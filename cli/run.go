package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"fairlead.dev/fairlead/controllers"
	"fairlead.dev/fairlead/model/ingress"
)

// This file is the operator's command line.

// LiveOptions are what a provider is told when the operator starts it.
type LiveOptions struct {
	// State is the file that a fake cloud outlives the process in.
	State string
	// Network is where load balancers of the fake cloud get their addresses from.
	Network netip.Prefix
}

// running are the flags of run.
type running struct {
	provider      string
	live          LiveOptions
	kubeconfig    string
	namespace     string
	withoutClass  bool
	secrets       string
	leaderElect   bool
	leaseIn       string
	metrics       string
	probes        string
	driftInterval time.Duration
	shutdown      time.Duration
	logFormat     string
	verbose       bool
}

func newRun(with Providers) *cobra.Command {
	var o running
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Be the operator: serve the Ingresses of a cluster",
		Long: `Watch the Ingresses of a cluster, keep a load balancer for each of them or for each group,
and write where it is reached into their status.`,
		Example: `  # In a cluster, two replicas of which one works
  fairlead run --leader-elect

  # On this machine, against the cluster of the current kubeconfig
  fairlead run --provider fake --fake-state fairlead.state.json --log-format console`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), with, cmd.ErrOrStderr())
		},
	}
	names := slices.Sorted(maps.Keys(with.Live))
	flags := cmd.Flags()
	flags.StringVar(&o.provider, "provider", "fake", "`CLOUD` that serves: "+strings.Join(names, " or "))
	flags.StringVar(&o.live.State, "fake-state", "", "`FILE` in which the fake cloud outlives the operator")
	flags.TextVar(&o.live.Network, "fake-addresses", netip.Prefix{}, "`NETWORK` of this machine that load balancers of the fake cloud get their addresses from, such as 192.0.2.0/24 or, for a single one, 192.0.2.1/32; unset: loopback")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "`FILE` that says which cluster; unset: KUBECONFIG, else the cluster around this process")
	flags.StringVar(&o.namespace, "namespace", "", "the only `NAMESPACE` whose Ingresses are served; unset: all")
	flags.BoolVar(&o.withoutClass, "watch-ingress-without-class", false, "serve Ingresses that name no class, too")
	flags.StringVar(&o.secrets, "secrets", string(controllers.SecretsAll), "`WHICH` Secrets may be served: all, labelled (those with "+controllers.SecretLabel+"=true) or none")
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "work only while holding a lease, so that several replicas can run")
	flags.StringVar(&o.leaseIn, "leader-elect-namespace", "", "`NAMESPACE` of the lease; unset: that of this process's pod")
	flags.StringVar(&o.metrics, "metrics-bind-address", ":8080", "`ADDRESS` to serve metrics at, 0 for nowhere")
	flags.StringVar(&o.probes, "health-probe-bind-address", ":8081", "`ADDRESS` to serve /healthz and /readyz at, 0 for nowhere")
	flags.DurationVar(&o.driftInterval, "drift-interval", 10*time.Hour, "how long what was seen of the cloud is believed")
	flags.DurationVar(&o.shutdown, "shutdown-timeout", 30*time.Second, "how long steps under way may take once the operator is told to stop")
	flags.StringVar(&o.logFormat, "log-format", "json", "`FORMAT` of logs: json or console")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "log every step of every plan")
	must(cmd.RegisterFlagCompletionFunc("provider", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"json", "console"}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// run runs the operator until the context ends.
func (o *running) run(ctx context.Context, with Providers, logs io.Writer) error {
	start, ok := with.Live[o.provider]
	if !ok {
		return fmt.Errorf("--provider: the operator cannot run %q; it can run %s", o.provider, strings.Join(slices.Sorted(maps.Keys(with.Live)), ", "))
	}
	modes := []controllers.SecretsMode{controllers.SecretsAll, controllers.SecretsLabelled, controllers.SecretsNone}
	if !slices.Contains(modes, controllers.SecretsMode(o.secrets)) {
		return fmt.Errorf("--secrets: %q is none of all, labelled and none", o.secrets)
	}
	handler, err := o.logs(logs)
	if err != nil {
		return err
	}
	logger := logr.FromSlogHandler(handler)
	log.SetLogger(logger)
	klog.SetSlogLogger(slog.New(handler)) // the client library's
	config, err := o.cluster()
	if err != nil {
		return err
	}
	cloud, err := start(o.live)
	if err != nil {
		return err
	}
	defer cloud.Close()
	m, err := manager.New(config, o.manager(logger))
	if err != nil {
		return fmt.Errorf("starting the operator: %w", err)
	}
	if err := addProbes(m); err != nil {
		return err
	}
	err = controllers.Add(ctx, m, controllers.Options{
		Cloud:         cloud,
		Namespace:     o.namespace,
		Secrets:       controllers.SecretsMode(o.secrets),
		Classes:       ingress.Options{WithoutClass: o.withoutClass},
		DriftInterval: o.driftInterval,
	})
	if err != nil {
		return err
	}
	if err := m.Start(ctx); err != nil {
		return fmt.Errorf("running the operator: %w", err)
	}
	return nil
}

// logs is where log lines go and how they look.
func (o *running) logs(w io.Writer) (slog.Handler, error) {
	options := &slog.HandlerOptions{}
	if o.verbose {
		options.Level = slog.LevelDebug
	}
	switch o.logFormat {
	case "json":
		return slog.NewJSONHandler(w, options), nil
	case "console":
		return slog.NewTextHandler(w, options), nil
	}
	return nil, fmt.Errorf("--log-format: %q is neither json nor console", o.logFormat)
}

// cluster is how to reach the API server.
func (o *running) cluster() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	config.UserAgent = "fairlead"
	config.QPS, config.Burst = 200, 400 // of a controller that serves thousands of Ingresses after a cold start
	return config, nil
}

// manager is what runs the controllers.
func (o *running) manager(logger logr.Logger) manager.Options {
	options := manager.Options{
		Scheme:                        controllers.Scheme(),
		Logger:                        logger,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              o.lease(),
		LeaderElectionNamespace:       o.leaseIn,
		LeaderElectionReleaseOnCancel: true, // the process ends right after: nothing works on without the lease
		Metrics:                       metricsserver.Options{BindAddress: o.metrics},
		HealthProbeBindAddress:        o.probes,
		GracefulShutdownTimeout:       &o.shutdown,
		Cache:                         controllers.Cache(controllers.SecretsMode(o.secrets)),
	}
	if o.namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{o.namespace: {}}
	}
	return options
}

// lease is the name of the lease that one replica holds: operators that look after a namespace each
// may stand in the same one, and all of them are to work.
func (o *running) lease() string {
	if o.namespace != "" {
		return "fairlead-" + o.namespace
	}
	return "fairlead"
}

// addProbes says that the process lives as long as it answers, and is ready once its caches are.
func addProbes(m manager.Manager) error {
	if err := m.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health probe: %w", err)
	}
	if err := m.AddReadyzCheck("caches", controllers.Ready(m.GetCache())); err != nil {
		return fmt.Errorf("adding the readiness probe: %w", err)
	}
	return nil
}
