package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

func TestALeaseIsHeldForAWhileAfterItsRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := &fakeLock{takes: 2 * time.Second}
		l := &lease{Interface: lock, good: 12500 * time.Millisecond}
		ours, theirs := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}, resourcelock.LeaderElectionRecord{HolderIdentity: "another"}
		holds := func(when string, want bool) {
			t.Helper()
			if err := l.holds(); (err == nil) != want {
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
		if err := l.holds(); err == nil || !strings.Contains(err.Error(), "last renewed 12.5s ago") {
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
		_ = l.Update(t.Context(), resourcelock.LeaderElectionRecord{})
		holds("once it is given up", false)
	})
}
