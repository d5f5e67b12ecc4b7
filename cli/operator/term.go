package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/fairlead/controllers"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/clouds"
)

// This file runs the operator for a term, which ends with its lease. An operator that loses its
// lease competes for it again in the same process: the data plane of a cloud may run there, and has
// to continue while the API server does not answer.

// A term holds the dependencies of the operator from one election to the next.
type term struct {
	*Settings
	classes  ingress.ClassOptions
	config   *rest.Config
	cloud    clouds.Live
	requests *metrics.Requests
	reads    *metrics.Reads

	logger, libraries logr.Logger // of the operator and of its libraries
}

// serve runs term after term until the context ends. It returns an error if the first term could
// not begin.
func (t term) serve(ctx context.Context) error {
	for {
		elected, err := t.runTerm(ctx)
		if err == nil || !elected || ctx.Err() != nil {
			return err
		}
		t.logger.Error(err, "lost the lease; will compete for it when the API server answers")
		if err := t.awaitAPIServer(ctx); err != nil {
			return nil //nolint:nilerr // the context has ended
		}
	}
}

// runTerm runs the operator until it loses its lease or the context ends. It reports whether the
// operator held the lease.
func (t term) runTerm(ctx context.Context) (elected bool, err error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	options := t.manager(t.libraries)
	options.NewClient = t.reads.NewClient
	var checkLease func() error
	var name string
	if t.leaderElect {
		lease, err := t.newLease(ctx, t.config)
		if err != nil {
			return false, err
		}
		options.LeaderElectionResourceLockInterface = lease
		checkLease, name = lease.checkHeld, lease.Identity()
	}
	revocable := providers.NewRevocable(t.cloud.Term(), checkLease)
	left := t.remaining(ctx)
	// A manager that has lost its lease does not wait for the changes that are under way.
	defer func() { err = errors.Join(err, revocable.Revoke(left())) }()
	m, err := manager.New(t.config, options)
	if err != nil {
		return false, fmt.Errorf("starting the operator: %w", err)
	}
	if err := addProbes(m); err != nil {
		return false, err
	}
	if err := m.Add(progress{m, t.logger, t.leaderElect}); err != nil {
		return false, fmt.Errorf("adding the log of its progress: %w", err)
	}
	err = controllers.Add(ctx, m, t.options(revocable, checkLease, name))
	if err != nil {
		return false, err
	}
	filled := func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		return m.GetCache().WaitForCacheSync(ctx)
	}
	if err := runUntilStopped(ctx, m.Start, filled, t.Shutdown); err != nil {
		return t.leaderElect && isClosed(m.Elected()), fmt.Errorf("running the operator: %w", err)
	}
	return true, nil
}

// options returns the options of the controllers.
func (t term) options(
	cloud providers.Provider, checkLease func() error, name string,
) controllers.Options {
	return controllers.Options{
		Cloud:         providers.LimitRate(cloud, t.cloudRate, t.cloudBurst),
		Logger:        t.logger,
		Namespace:     t.Cluster.Namespace,
		ReadOnly:      t.readOnly,
		Secrets:       cluster.SecretsMode(t.secrets),
		Classes:       t.classes,
		DriftInterval: t.driftInterval,
		Paused:        t.paused,
		VanishedGrace: t.vanishedGrace,
		CheckLease:    checkLease,
		ManageClass:   t.manageClass,
		Requests:      t.requests,
		Reads:         t.reads,
		Workers:       t.workers,

		Version:          Version(),
		Term:             name,
		ReconcileTimeout: t.reconcileTimeout,

		ReadinessGates:   t.gates,
		ReadinessTimeout: t.gateTimeout,
	}
}

// remaining returns how much of --shutdown-timeout is left. It begins when the context ends.
func (t term) remaining(ctx context.Context) func() time.Duration {
	ended := make(chan time.Time, 1)
	stop := context.AfterFunc(ctx, func() { ended <- time.Now() })
	return func() time.Duration {
		if stop() {
			return t.Shutdown // the context goes on: the lease is lost
		}
		return max(0, t.Shutdown-time.Since(<-ended))
	}
}

// awaitAPIServer waits until the API server is ready, or the context ends. The ports of the last
// term are free by then.
func (t term) awaitAPIServer(ctx context.Context) error {
	config := rest.CopyConfig(t.config)
	config.Timeout = t.leaseRenewed
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, t.leaseRetried(), false,
		func(ctx context.Context) (bool, error) {
			return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
		})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
