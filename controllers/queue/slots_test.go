package queue

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// A job is a reconciler whose work each test says.
type job func(ctx context.Context, key string) error

func (j job) Reconcile(ctx context.Context, key string) (reconcile.Result, error) {
	return reconcile.Result{}, j(ctx, key)
}

func TestWorkThatWaitsForASlowCallHasNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var underWay Calls
		s := &slots{limit: 2}
		var counting sync.Mutex
		running, most, done := 0, 0, 0
		b := bounded[string]{job(func(ctx context.Context, key string) error {
			if key == "silent" {
				defer underWay.Begin(ctx, "Observe")()
				time.Sleep(time.Minute)
				return nil
			}
			counting.Lock()
			running++
			most = max(most, running)
			counting.Unlock()
			ended := underWay.Begin(ctx, "Observe")
			time.Sleep(time.Second)
			ended()
			counting.Lock()
			defer counting.Unlock()
			running--
			done++
			return nil
		}), s, &Liveness{limit: time.Hour}, "loadbalancers", nil}
		began := time.Now()
		for range 2 {
			go func() { _, _ = b.Reconcile(t.Context(), "silent") }()
		}
		synctest.Wait()
		for range 6 {
			go func() { _, _ = b.Reconcile(t.Context(), "answered") }()
		}
		time.Sleep(4 * time.Second)
		counting.Lock()
		if done > 0 {
			t.Errorf("%d were done while all slots were taken", done)
		}
		counting.Unlock()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if done != 6 || most != 2 {
			t.Errorf("after %s %d were done, at most %d at a time; want 6, 2", time.Since(began), done, most)
		}
		if oldest := underWay.Oldest(); oldest != 9*time.Second {
			t.Errorf("the oldest call is %s old", oldest)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.busy != 0 || s.waiting != 0 || underWay.Oldest() != 0 {
			t.Errorf("in the end: %d slots are taken, %d wait, %s", s.busy, s.waiting, underWay.Oldest())
		}
	})
}

func TestWorkThatDoesNotGetASlotInTimeIsNotDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slots{limit: 1}
		b := bounded[string]{job(func(context.Context, string) error { time.Sleep(time.Minute); return nil }), s, &Liveness{limit: time.Hour}, "loadbalancers", nil}
		go func() { _, _ = b.Reconcile(context.Background(), "first") }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.Reconcile(ctx, "second"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if s.busy != 0 || len(s.queue) != 0 {
			t.Errorf("%d slots are taken, %d wait", s.busy, len(s.queue))
		}
	})
}

func TestAReconcileThatDoesNotEndFailsTheLivenessProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Liveness{limit: 10 * time.Minute}
		ends := make(chan struct{})
		b := bounded[string]{job(func(ctx context.Context, _ string) error {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), errLong) {
				t.Errorf("it was ended because of: %v", context.Cause(ctx))
			}
			<-ends
			return context.Cause(ctx)
		}), &slots{limit: 1}, p, "loadbalancers", nil}
		ended := make(chan error, 1)
		go func() {
			_, err := b.Reconcile(context.Background(), "fairlead/shop/site/internal")
			ended <- err
		}()
		time.Sleep(13 * time.Minute)
		if err := p.Check(nil); err != nil {
			t.Errorf("3 minutes after its time: %v", err)
		}
		time.Sleep(time.Minute)
		if err := p.Check(nil); err == nil || !strings.Contains(err.Error(), "reconciling loadbalancers fairlead/shop/site/internal has not ended for 14m0s") {
			t.Errorf("4 minutes after its time: %v", err)
		}
		close(ends)
		if result, err := resultFor(<-ended); err != nil || result.RequeueAfter != AfterConflict {
			t.Errorf("it comes back %v, %v", result, err)
		}
		if err := p.Check(nil); err != nil {
			t.Errorf("once it has ended: %v", err)
		}
	})
}

func TestACallThatTakesLongIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var underWay Calls
		logged := make(chan string, 10)
		ctx := logr.NewContext(context.Background(), funcr.New(func(_, args string) { logged <- args }, funcr.Options{}))
		ended := underWay.Begin(ctx, "Apply", "step", "create rule 80/shop")
		time.Sleep(29 * time.Second)
		synctest.Wait()
		if len(logged) > 0 {
			t.Errorf("after 29 s: %q", <-logged)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		ended()
		if len(logged) != 1 {
			t.Fatalf("after 5 minutes there are %d lines, want 1", len(logged))
		}
		if line := <-logged; !strings.Contains(line, `"call"="Apply" "for"="30s" "step"="create rule 80/shop"`) {
			t.Errorf("after 5 minutes: %q", line)
		}
	})
}
