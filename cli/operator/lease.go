package operator

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

// This file holds the age of the last renewal of the lease. client-go gives a lease up only when it
// tries to renew it and fails for the renew deadline, so a process that was paused continues for
// seconds after another one has the lease
// (https://pkg.go.dev/k8s.io/client-go/tools/leaderelection: a leader's clock is trusted to run at
// about the rate of the others').

// A lease is the lock of an election, with the time of its last renewal.
type lease struct {
	resourcelock.Interface
	valid time.Duration // of a renewal

	mu      sync.Mutex
	renewed time.Time // when the last successful renewal was begun; zero without the lease
	holder  string    // the replica that had the lease when it was read last
}

// newLease returns the lock for the election. Its events are recorded until the context ends.
func (o *Settings) newLease(ctx context.Context, config *rest.Config) (*lease, error) {
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reaching the cluster: %w", err)
	}
	events := record.NewBroadcaster(record.WithContext(ctx))
	events.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: client.Events("")})
	lock, err := leaderelection.NewResourceLock(config, eventsOf{events}, leaderelection.Options{
		LeaderElection: true, LeaderElectionID: o.LeaseName(), LeaderElectionNamespace: o.leaseIn,
		RenewDeadline: o.leaseRenewed,
	})
	if err != nil {
		return nil, fmt.Errorf("making the lease: %w", err)
	}
	// A change that begins while the renewal is valid ends before another replica may take the lease,
	// unless the cloud takes long for it.
	valid := o.leaseRenewed + (o.leaseLasts-o.leaseRenewed)/2
	return &lease{Interface: lock, valid: valid}, nil
}

// Get reads the lease.
func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil {
		l.mu.Lock()
		l.holder = record.HolderIdentity
		l.mu.Unlock()
	}
	return record, raw, err
}

// isOurs reports whether this replica had the lease when it was read last.
func (l *lease) isOurs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holder == l.Identity()
}

// Create takes the lease where there is none.
func (l *lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.renew(r, func() error { return l.Interface.Create(ctx, r) })
}

// Update renews the lease, takes it, or gives it up.
//
// A replica gives up only its own lease. An elector that was paused overwrites the lease that
// another replica has taken meanwhile: it relies on its memory of being the leader, not on the
// lease that it has just read (tryRelease in
// https://github.com/kubernetes/client-go/blob/v0.37.2/tools/leaderelection/leaderelection.go). A
// third replica, or the same one, would become leader at once, beside the new leader.
func (l *lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if r.HolderIdentity == "" && !l.isOurs() {
		l.setRenewed(time.Time{})
		return nil
	}
	return l.renew(r, func() error { return l.Interface.Update(ctx, r) })
}

// renew writes the lease and records when a successful renewal was begun. Other replicas count from
// a later time.
func (l *lease) renew(r resourcelock.LeaderElectionRecord, write func() error) error {
	begun := time.Now()
	if r.HolderIdentity != l.Identity() {
		l.setRenewed(time.Time{}) // the lease is given up
	}
	if err := write(); err != nil {
		return err
	}
	if r.HolderIdentity == l.Identity() {
		l.setRenewed(begun)
	}
	return nil
}

func (l *lease) setRenewed(renewed time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = renewed
}

// checkHeld returns an error if this process may have lost the lease. It measures the age of the
// renewal on the monotonic clock and on the wall clock: the first one stops while a machine sleeps.
func (l *lease) checkHeld() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() {
		return fmt.Errorf("this replica does not have the lease %s", l.Describe())
	}
	now := time.Now()
	if age := max(now.Sub(l.renewed), now.Round(0).Sub(l.renewed.Round(0))); age >= l.valid {
		return fmt.Errorf("the lease %s was last renewed %s ago: another replica may have it by now",
			l.Describe(), age.Round(time.Millisecond))
	}
	return nil
}

// eventsOf gives the election the recorders for its events.
type eventsOf struct{ to record.EventBroadcaster }

// GetEventRecorderFor implements recorder.Provider.
func (e eventsOf) GetEventRecorderFor(name string) record.EventRecorder {
	return e.to.NewRecorder(scheme.Scheme, corev1.EventSource{Component: name})
}

// GetEventRecorder implements recorder.Provider. An election records events of the older kind.
func (e eventsOf) GetEventRecorder(string) recorder.EventRecorder { return nil }
