package controllers

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// A shelf is a keeper that counts what it is given.
type shelf struct {
	keeper
	saved []record
}

func (s *shelf) save(_ context.Context, _ lb.Key, r record) error {
	s.saved = append(s.saved, r)
	return nil
}

// A clerk is a cloud that only makes calls wait for their turn.
type clerk struct{ providers.Provider }

func (clerk) Apply(context.Context, *lb.Observed, plan.Step) (plan.Result, error) {
	return plan.Result{}, nil
}

// pacedRun carries out a plan of so many steps, one a second, and returns what was written about it meanwhile.
func pacedRun(t *testing.T, steps int) (saved []record, told *metav1.Condition) {
	const key = lb.Key("fairlead/shop/web/internal")
	before := record{Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{{Ingress: "shop/web"}}}}
	kept := &shelf{}
	r := &reconciler{gatherer: &gatherer{memories: newMemories(kept)}}
	r.memories.records, r.memories.memories, r.memories.holders = map[lb.Key]record{}, map[lb.Key]ingress.Memory{}, map[string]map[lb.Key]bool{}
	r.memories.put(key, before)
	r.cloud = providers.InTurns(clerk{}, 1, 1)
	o := outcome{snap: &gathering{record: before}, seen: &lb.Observed{Key: key}}
	o.snap.Key = key
	for range steps {
		o.todo.Steps = append(o.todo.Steps, plan.Planned{Step: plan.CreateTargetGroup{}})
	}
	r.carryOut(r.waiting.asker(t.Context(), key), &o)
	if o.err != nil {
		t.Fatal(o.err)
	}
	return kept.saved, meta.FindStatusCondition(o.snap.record.Conditions, v1alpha1.ConditionWaiting)
}

// 104 s of waiting for the cloud's rate are told once, with since when and about how long.
func TestALongWaitForTheRateIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		saved, told := pacedRun(t, 104)
		if len(saved) != 1 || told == nil {
			t.Fatalf("%d writes tell of it, want 1; the condition is %v", len(saved), told)
		}
		if told.Status != metav1.ConditionTrue || told.Reason != v1alpha1.ReasonRateLimited || told.LastTransitionTime.Sub(began) > 2*time.Second {
			t.Errorf("the condition is %v", told)
		}
		if want := began.Add(104 * time.Second).Truncate(time.Minute).Add(time.Minute).UTC().Format(time.RFC3339); !strings.Contains(told.Message, want) {
			t.Errorf("it says %q, want about %s", told.Message, want)
		}
		if said := meta.FindStatusCondition(saved[0].Conditions, v1alpha1.ConditionWaiting); !equality.Semantic.DeepEqual(said, told) {
			t.Errorf("written is %v, and %v goes into the report", said, told)
		}
	})
}

func TestAShortWaitIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if saved, told := pacedRun(t, 10); len(saved) != 0 || told != nil {
			t.Errorf("%d writes tell of it: %v", len(saved), told)
		}
	})
}

// What waits from one reconcile to the next is told after a while, and its text changes only with what it waits for.
func TestTheConditionChangesOnlyWithWhatIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const key = lb.Key("fairlead/shop/web/internal")
		r := &reconciler{}
		g := &gathering{}
		g.Key = key
		var changes []string
		reconcile := func(err error, pending ...plan.Step) {
			o := outcome{snap: g, seen: &lb.Observed{}, err: err, run: providers.Outcome{Pending: pending}}
			next := *g.record.DeepCopy()
			r.waits.note(key, pending, err == nil, time.Now())
			setWaiting(&next, r.waitsFor(o, &next, time.Now()), time.Now())
			if !equality.Semantic.DeepEqual(g.record, next) {
				c := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionWaiting)
				changes = append(changes, string(c.Status)+" "+c.Reason)
			}
			g.record = next
		}
		for range 60 {
			reconcile(providers.ErrPending, plan.AwaitTargets{Group: "shop/web:80"})
			time.Sleep(time.Second)
		}
		if _, longest := r.waiting.longest(); longest[v1alpha1.ReasonTargetHealth] != time.Minute {
			t.Errorf("the longest waits are %v", longest)
		}
		r.waiting, r.waits.since = waitings{}, nil // another process goes on
		for range 60 {
			reconcile(providers.ErrPending, plan.DeleteTargetGroup{Group: "shop/web:80"})
			time.Sleep(time.Second)
		}
		reconcile(providers.ErrThrottled)
		time.Sleep(20 * time.Second)
		reconcile(providers.ErrThrottled)
		for range 60 {
			reconcile(nil)
			time.Sleep(time.Second)
		}
		want := "True TargetHealth, False NotWaiting, True Cloud, False NotWaiting, True Throttled, False NotWaiting"
		if got := strings.Join(changes, ", "); got != want {
			t.Errorf("the condition becomes %s; want %s", got, want)
		}
		if count, _ := r.waiting.longest(); len(count) > 0 {
			t.Errorf("in the end %v are waited for", count)
		}
	})
}

// A process that takes over goes on with the wait that the one before it has told of.
func TestAWaitOutlivesTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := record{}
		setWaiting(&r, []reasonToWait{{v1alpha1.ReasonQuota, "full", began}}, began.Add(time.Minute))
		time.Sleep(time.Hour)
		if since := sinceFor(&r, v1alpha1.ReasonQuota, time.Time{}, true, time.Now()); began.Sub(since).Abs() > time.Second {
			t.Errorf("it waits since %s, want %s", since, began)
		}
	})
}

// A load balancer for which there is no slot is queued.
func TestAQueuedReconcileIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reconciler{gatherer: &gatherer{memories: newMemories(&shelf{})}}
		long := job(func(context.Context, string) error { time.Sleep(time.Minute); return nil })
		b := bounded[string]{long, &slots{limit: 1}, &pulse{limit: time.Hour}, "loadbalancers", func(ctx context.Context, key string) func() {
			return r.queued(ctx, lb.Key(key))
		}}
		for _, key := range []string{"first", "second"} {
			go func() { _, _ = b.Reconcile(context.Background(), key) }()
			synctest.Wait()
		}
		time.Sleep(30 * time.Second)
		if count, longest := r.waiting.longest(); count[v1alpha1.ReasonQueued] != 1 || longest[v1alpha1.ReasonQueued] != 30*time.Second {
			t.Errorf("%v wait, for %v; want one, for 30 s", count, longest)
		}
		time.Sleep(2 * time.Minute)
		if count, _ := r.waiting.longest(); count[v1alpha1.ReasonQueued] != 0 {
			t.Errorf("%v wait", count)
		}
	})
}

// Load balancers whose calls wait for the cloud's rate leave the slots to others, however short each wait is.
func TestWorkThatWaitsForATurnHasNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reconciler{}
		turns := providers.NewTurns(2, 1)
		var took time.Duration
		began := time.Now()
		b := bounded[string]{job(func(ctx context.Context, key string) error {
			if key == "quiet" {
				took = time.Since(began)
				return nil
			}
			ctx = r.waiting.asker(ctx, lb.Key(key))
			for range 100 {
				if err := turns.Wait(ctx); err != nil {
					return err
				}
			}
			return nil
		}), &slots{limit: 4}, &pulse{limit: time.Hour}, "loadbalancers", nil}
		for _, key := range []string{"a", "b", "c", "d", "quiet"} {
			go func() { _, _ = b.Reconcile(context.Background(), key) }()
			synctest.Wait()
		}
		time.Sleep(5 * time.Minute)
		if took > time.Second {
			t.Errorf("the quiet one has a slot after %s", took)
		}
	})
}
