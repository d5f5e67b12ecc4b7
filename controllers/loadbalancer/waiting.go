package loadbalancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file reports long waits of load balancers in the condition Waiting.

// waitCheckInterval is the time until the next check whether calls for targets still wait.
const waitCheckInterval = 10 * time.Second

// A reasonToWait has the reason of a wait, and its begin. Its text does not change during the wait.
type reasonToWait struct {
	reason, text string
	since        time.Time
}

// reportingWait calls do for a load balancer, and reports meanwhile if its calls wait long for the
// cloud's rate.
func (r *Reconciler) reportingWait(ctx context.Context, g *gather.Snapshot,
	text func(now time.Time) string, do func()) {
	end := r.reportWaits(ctx, g.Key, v1alpha1.ReasonRateLimited, text)
	defer func() {
		if told := end(); told != nil {
			g.Record.Conditions = slices.Clone(g.Record.Conditions)
			putCondition(&g.Record, *told)
		}
	}()
	do()
}

// Queued begins to wait for a slot, and reports a long wait. Call over at its end.
func (r *Reconciler) Queued(ctx context.Context, key lb.Key) (over func()) {
	begun := r.Waits.Begin(key, v1alpha1.ReasonQueued)
	end := r.reportWaits(ctx, key, v1alpha1.ReasonQueued, func(time.Time) string {
		return "other load balancers are worked on"
	})
	return func() {
		end()
		begun()
	}
}

// reportWaits reports once that a load balancer has waited long. The function that it returns ends
// the report, and returns the condition that was written; nil if none was.
func (r *Reconciler) reportWaits(ctx context.Context, key lb.Key, reason string,
	text func(now time.Time) string) (end func() *metav1.Condition) {
	over, told := make(chan struct{}), make(chan *metav1.Condition, 1)
	go func() {
		timer := time.NewTimer(queue.LongWait)
		defer timer.Stop()
		for {
			select {
			case <-over:
				told <- nil
				return
			case now := <-timer.C:
				if since := r.Waits.Since(key, reason); !since.IsZero() && now.Sub(since) >= queue.LongWait {
					told <- r.writeWaiting(ctx, key, reasonToWait{reason, text(now), since})
					return
				}
				timer.Reset(queue.Lull)
			}
		}
	}()
	return func() *metav1.Condition {
		close(over)
		return <-told
	}
}

// writeWaiting writes the condition Waiting into the record of a load balancer, and returns it; nil
// if there is no record, or the write failed.
func (r *Reconciler) writeWaiting(ctx context.Context, key lb.Key,
	why reasonToWait) *metav1.Condition {
	before := r.Records.Get(key)
	if r.ReadOnly || len(before.Memory.Members) == 0 {
		return nil
	}
	next := *before.DeepCopy()
	setWaiting(&next, []reasonToWait{why}, time.Now())
	if err := r.keep(ctx, key, &next); err != nil {
		log.FromContext(ctx).V(1).Info("a wait could not be reported", "error", err)
		return nil
	}
	return meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionWaiting)
}

// setWaiting sets the condition Waiting to the reasons that have lasted for long. A record that
// never had the condition does not get one that is false.
func setWaiting(r *records.Record, why []reasonToWait, now time.Time) {
	before := meta.FindStatusCondition(r.Conditions, v1alpha1.ConditionWaiting)
	why = slices.DeleteFunc(slices.Clone(why), func(w reasonToWait) bool {
		return now.Sub(w.since) < queue.LongWait
	})
	if len(why) == 0 {
		if before != nil && before.Status == metav1.ConditionTrue {
			c := condition(v1alpha1.ConditionWaiting, false, v1alpha1.ReasonNotWaiting, "")
			c.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
			putCondition(r, c)
		}
		return
	}
	slices.SortStableFunc(why, func(a, b reasonToWait) int {
		return cmp.Compare(slices.Index(queue.Reasons(), a.reason),
			slices.Index(queue.Reasons(), b.reason))
	})
	var texts []string
	for _, w := range why {
		texts = append(texts, w.text)
	}
	c := condition(v1alpha1.ConditionWaiting, true, why[0].reason, strings.Join(texts, "; "))
	c.LastTransitionTime = metav1.NewTime(why[0].since).Rfc3339Copy()
	putCondition(r, c)
}

// putCondition replaces a condition as a whole, with its time.
func putCondition(r *records.Record, c metav1.Condition) {
	if before := meta.FindStatusCondition(r.Conditions, c.Type); before != nil {
		*before = c
		return
	}
	r.Conditions = append(r.Conditions, c)
}

// waitsFor stores and returns the waits of a load balancer after a reconcile.
func (r *Reconciler) waitsFor(o outcome, next *records.Record,
	now time.Time) []reasonToWait {
	key := o.Snapshot.Key
	texts := map[string]string{
		v1alpha1.ReasonTargetHealth: o.awaitedTargets(r.warmups.firstWait(key)),
		v1alpha1.ReasonCloud:        o.awaitedCloud(),
		v1alpha1.ReasonQuota:        o.awaitedQuota(next),
		v1alpha1.ReasonThrottled:    throttledMessage(o.Err),
	}
	out := r.storeWaits(o.Snapshot, texts, now)
	if r.Waits.UnderWay(key, v1alpha1.ReasonRateLimited) || o.Err != nil {
		if since := r.Waits.Since(key, v1alpha1.ReasonRateLimited); !since.IsZero() {
			out = append(out, reasonToWait{v1alpha1.ReasonRateLimited, waitsForRate, since})
		}
	}
	return out
}

// waitsUnobserved returns the waits of a load balancer that could not be observed.
func (r *Reconciler) waitsUnobserved(
	g *gather.Snapshot, failure error, now time.Time,
) []reasonToWait {
	texts := map[string]string{
		v1alpha1.ReasonCloud: "", v1alpha1.ReasonThrottled: throttledMessage(failure),
	}
	if queue.OnlyPending(failure) {
		texts[v1alpha1.ReasonCloud] = fmt.Sprintf("the cloud is not ready to list its resources: it is "+
			"asked again every %s", queue.LongestPending)
	}
	return r.storeWaits(g, texts, now)
}

// storeWaits stores the waits between two reconciles, by reason, and ends those without a text.
func (r *Reconciler) storeWaits(g *gather.Snapshot, texts map[string]string,
	now time.Time) []reasonToWait {
	var out []reasonToWait
	for reason, text := range texts {
		since := sinceFor(&g.Record, reason, r.Waits.Since(g.Key, reason), text != "", now)
		r.Waits.Set(g.Key, reason, since)
		if text != "" {
			out = append(out, reasonToWait{reason, text, since})
		}
	}
	return out
}

// throttledMessage returns a message if the cloud refuses calls for their rate; "" if not.
func throttledMessage(err error) string {
	if !errors.Is(err, providers.ErrThrottled) {
		return ""
	}
	return fmt.Sprintf("the cloud refuses calls, for there are too many: they are made again every "+
		"%s at the latest", queue.LastRetry)
}

// sinceFor returns when a wait began, as known to this process or written by the last one.
func sinceFor(r *records.Record, reason string, known time.Time, waits bool,
	now time.Time) time.Time {
	said := meta.FindStatusCondition(r.Conditions, v1alpha1.ConditionWaiting)
	switch {
	case !waits:
		return time.Time{}
	case !known.IsZero():
		return known
	case said != nil && said.Reason == reason:
		return said.LastTransitionTime.Time
	}
	return now
}

// waitsForRate is the text for calls that wait for their turn.
const waitsForRate = "calls wait for their turn: the operator bounds their rate, and how many of " +
	"them are under way at a cloud that is slow"

// rateMessage returns the text for waiting calls that belong to no plan.
func rateMessage(time.Time) string { return waitsForRate }

// doneMessage returns the text for a plan that waits for the cloud's rate, with the time when it is
// done at its present pace.
func doneMessage(began, now time.Time, done, steps int) string {
	if done == 0 {
		return waitsForRate
	}
	left := now.Sub(began) / time.Duration(done) * time.Duration(steps-done)
	end := now.Add(left).Truncate(time.Minute).Add(time.Minute)
	return fmt.Sprintf("%s: of %d steps %d were done by %s, and all of them are about %s",
		waitsForRate, steps, done, now.UTC().Format(time.TimeOnly), end.UTC().Format(time.RFC3339))
}
