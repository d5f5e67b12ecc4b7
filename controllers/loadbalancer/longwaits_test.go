package loadbalancer

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file tests from when on a wait is told, and which waits are.

// waiter is a Reconciler that writes records alone.
func waiter(t *testing.T) (*Reconciler, *countingKeeper) {
	t.Helper()
	kept := &countingKeeper{known: map[lb.Key]records.Record{benchKey: {Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{{Ingress: "shop/web"}}}}}}
	r := &Reconciler{Parts: Parts{Waits: &queue.Waits{}, Gatherer: &gather.Gatherer{Records: records.NewCache(kept, false)}}}
	if err := r.Records.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r, kept
}

// A wait is told as soon as it is long, though it began late, and not where there is none or where
// an operator only plans.
func TestFromWhenOnAWaitIsTold(t *testing.T) {
	const never = -1
	for name, c := range map[string]struct {
		begins, ends time.Duration // since it is looked at; never is not at all
		readOnly     bool
		told         bool
	}{
		"none":                        {begins: never, ends: 3 * queue.LongWait},
		"one from the beginning":      {ends: queue.LongWait + time.Millisecond, told: true},
		"a short one":                 {ends: queue.LongWait - time.Millisecond},
		"one that begins late":        {begins: queue.LongWait / 2, ends: 2*queue.LongWait + queue.Lull, told: true},
		"one that began a moment ago": {begins: queue.LongWait - time.Second, ends: queue.LongWait + time.Second},
		"of one that only plans":      {ends: 2 * queue.LongWait, readOnly: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, kept := waiter(t)
			r.ReadOnly = c.readOnly
			end := r.reportWaits(t.Context(), benchKey, v1alpha1.ReasonQuota, rateMessage)
			if c.begins != never {
				time.Sleep(c.begins)
				r.Waits.Begin(benchKey, v1alpha1.ReasonQuota)
			}
			time.Sleep(c.ends - max(c.begins, 0))
			if told := end() != nil; told != c.told || len(kept.saved) > 0 != c.told {
				t.Errorf("%s: it is told: %t, by %d writes", name, told, len(kept.saved))
			}
		})
	}
}

// The queue of a load balancer whose turn comes soon is not told, then or later.
func TestAShortQueueIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, kept := waiter(t)
		over := r.Queued(t.Context(), benchKey)
		time.Sleep(time.Second)
		over()
		time.Sleep(3 * queue.LongWait)
		if count, _ := r.Waits.Longest(); len(count) > 0 || len(kept.saved) > 0 {
			t.Errorf("%v wait, and %d writes tell of it", count, len(kept.saved))
		}
	})
}

// The condition has the first of several reasons, and the texts of all; when none is left, it has
// the time of that.
func TestTheConditionOfSeveralWaits(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var why []reasonToWait
	for _, reason := range slices.Backward(queue.Reasons()) {
		why = append(why, reasonToWait{reason, "of " + reason, now.Add(-time.Hour)})
	}
	var r records.Record
	setWaiting(&r, why, now)
	c := meta.FindStatusCondition(r.Conditions, v1alpha1.ConditionWaiting)
	if want := "of " + strings.Join(queue.Reasons(), "; of "); c.Reason != queue.Reasons()[0] || c.Message != want || !c.LastTransitionTime.Time.Equal(now.Add(-time.Hour)) {
		t.Errorf("it waits for %s since %s: %q, want %q", c.Reason, c.LastTransitionTime, c.Message, want)
	}
	setWaiting(&r, nil, now)
	if c := meta.FindStatusCondition(r.Conditions, v1alpha1.ConditionWaiting); c.Status != metav1.ConditionFalse || !c.LastTransitionTime.Time.Equal(now) {
		t.Errorf("afterwards it waits: %s since %s", c.Status, c.LastTransitionTime)
	}
}

// Calls that wait for the cloud's rate are waited for while they do, and where they ended a plan. A
// cloud that is not ready is waited for, and one that fails is not.
func TestWhichWaitsOutliveAReconcile(t *testing.T) {
	for name, c := range map[string]struct {
		over bool // the wait for the rate was a moment ago
		err  error
		want string
	}{
		"calls wait":                   {want: v1alpha1.ReasonRateLimited},
		"calls have waited":            {over: true},
		"calls have waited, and ended": {over: true, err: errStep, want: v1alpha1.ReasonRateLimited},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := waiter(t)
			end := r.Waits.Begin(benchKey, v1alpha1.ReasonRateLimited)
			if time.Sleep(time.Minute); c.over {
				end()
			}
			o := outcome{Snapshot: &gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey}}, Observed: &lb.Observed{Key: benchKey}, Err: c.err}
			if got := reasons(r.waitsFor(o, &records.Record{}, time.Now())); got != c.want {
				t.Errorf("%s: it waits for %q, want %q", name, got, c.want)
			}
		})
	}
	for err, want := range map[error]string{errStep: "", providers.ErrPending: v1alpha1.ReasonCloud, providers.ErrThrottled: v1alpha1.ReasonThrottled} {
		r, _ := waiter(t)
		if got := reasons(r.waitsUnobserved(&gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey}}, err, time.Now())); got != want {
			t.Errorf("after %v it waits for %q, want %q", err, got, want)
		}
	}
}

func reasons(why []reasonToWait) string {
	var out []string
	for _, w := range why {
		out = append(out, w.reason)
	}
	return strings.Join(out, " ")
}
