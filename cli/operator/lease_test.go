package operator

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A fakeLock is a lock whose writes take a while, and may fail.
type fakeLock struct {
	resourcelock.Interface
	takes time.Duration
	err   error
}

func (l *fakeLock) Identity() string { return "me" }
func (l *fakeLock) Describe() string { return "fairlead" }
func (l *fakeLock) Create(context.Context, resourcelock.LeaderElectionRecord) error {
	time.Sleep(l.takes)
	return l.err
}

func (l *fakeLock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Create(ctx, r)
}

func (l *fakeLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: "me"}, nil, nil
}

func TestALeaseIsHeldForAWhileAfterItsRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := &fakeLock{takes: 2 * time.Second}
		l := &lease{Interface: lock, valid: 12500 * time.Millisecond}
		ours, theirs := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}, resourcelock.LeaderElectionRecord{HolderIdentity: "another"}
		holds := func(when string, want bool) {
			t.Helper()
			if err := l.checkHeld(); (err == nil) != want {
				t.Errorf("%s: %v", when, err)
			}
		}
		holds("before it is taken", false)
		if err := l.Create(t.Context(), ours); err != nil {
			t.Fatal(err)
		}
		holds("once it is taken", true)
		time.Sleep(10 * time.Second)
		holds("12 s after the write was begun", true)
		time.Sleep(500 * time.Millisecond)
		if err := l.checkHeld(); err == nil || !strings.Contains(err.Error(), "last renewed 12.5s ago") {
			t.Errorf("later: %v", err)
		}
		if err := l.Update(t.Context(), ours); err != nil {
			t.Fatal(err)
		}
		holds("once it is renewed", true)
		lock.err = errors.New("no answer")
		time.Sleep(9 * time.Second)
		_ = l.Update(t.Context(), ours)
		holds("after a renewal that failed", false)
		lock.err = nil
		_ = l.Update(t.Context(), ours)
		_ = l.Update(t.Context(), theirs)
		holds("once it is another's", false)
		_ = l.Update(t.Context(), ours)
		_, _, _ = l.Get(t.Context())
		_ = l.Update(t.Context(), resourcelock.LeaderElectionRecord{})
		holds("once it is given up", false)
	})
}

// A pausing lock is one whose process does not run for a while, from within a renewal.
type pausingLock struct {
	resourcelock.Interface
	pause atomic.Int64
}

// Get fails where there is no time left, as it does over a connection.
func (l *pausingLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return l.Interface.Get(ctx)
}

func (l *pausingLock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if pause := time.Duration(l.pause.Swap(0)); pause > 0 {
		time.Sleep(pause)
		return context.DeadlineExceeded
	}
	return l.Interface.Update(ctx, r)
}

// TestAReplicaThatWasPausedLeavesTheLeaseToTheNextOne elects one of two replicas by the elector of
// client-go, pauses it until the other one has the lease, and has it go on.
func TestAReplicaThatWasPausedLeavesTheLeaseToTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lasts, renewed, retried = 15 * time.Second, 10 * time.Second, 2 * time.Second
		leases := kubefake.NewClientset().CoordinationV1()
		lockOf := func(identity string) resourcelock.Interface {
			return &resourcelock.LeaseLock{
				LeaseMeta: metav1.ObjectMeta{Namespace: "fairlead", Name: "fairlead"}, Client: leases,
				LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
			}
		}
		holder := func() string {
			record, _, err := lockOf("").Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return record.HolderIdentity
		}
		stand := func(ctx context.Context, lock resourcelock.Interface) (ended chan struct{}) {
			elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
				Lock: lock, LeaseDuration: lasts, RenewDeadline: renewed, RetryPeriod: retried, ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
			})
			if err != nil {
				t.Fatal(err)
			}
			ended = make(chan struct{})
			go func() {
				defer close(ended)
				elector.Run(ctx)
			}()
			return ended
		}
		first := &pausingLock{Interface: lockOf("first")}
		firstEnded := stand(t.Context(), &lease{Interface: first, valid: 12500 * time.Millisecond})
		time.Sleep(time.Second)
		ctx, stop := context.WithCancel(t.Context())
		second := &lease{Interface: lockOf("second"), valid: 12500 * time.Millisecond}
		secondEnded := stand(ctx, second)
		time.Sleep(time.Minute)
		if now := holder(); now != "first" {
			t.Fatalf("the lease is held by %q", now)
		}
		first.pause.Store(int64(30 * time.Second))
		<-firstEnded
		if now := holder(); now != "second" || second.checkHeld() != nil {
			t.Errorf("after the pause the lease is held by %q, and the second replica may write: %v", now, second.checkHeld())
		}
		stop()
		<-secondEnded
		if now := holder(); now != "" {
			t.Errorf("a replica that is told to stop leaves the lease to %q", now)
		}
	})
}
