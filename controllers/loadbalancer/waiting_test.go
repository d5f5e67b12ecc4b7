package loadbalancer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// A countingKeeper is a keeper that counts what it is given.
type countingKeeper struct {
	records.Store
	known map[lb.Key]records.Record
	saved []records.Record
}

func (s *countingKeeper) Load(context.Context) (map[lb.Key]records.Record, error) {
	return s.known, nil
}

func (s *countingKeeper) Save(_ context.Context, _ lb.Key, r records.Record) error {
	s.saved = append(s.saved, r)
	return nil
}

// A clerk is a cloud that only makes calls wait for their turn.
type clerk struct{ providers.Provider }

func (clerk) Apply(context.Context, *lb.Observed, plan.Step) (plan.Result, error) {
	return plan.Result{}, nil
}

// pacedRun carries out a plan of so many steps, one a second, and returns what was written about it
// meanwhile.
func pacedRun(t *testing.T, steps int) (saved []records.Record, told *metav1.Condition) {
	const key = lb.Key("fairlead/shop/web/internal")
	before := records.Record{Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{{Ingress: "shop/web"}}}}
	kept := &countingKeeper{known: map[lb.Key]records.Record{key: before}}
	r := &Reconciler{Parts: Parts{Waits: &queue.Waits{}, Gatherer: &gather.Gatherer{Records: records.NewCache(kept, false)}}}
	if err := r.Records.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Cloud = providers.LimitRate(clerk{}, 1, 1)
	o := outcome{Snapshot: &gather.Snapshot{Record: before}, Observed: &lb.Observed{Key: key}}
	o.Snapshot.Key = key
	for range steps {
		o.Plan.Steps = append(o.Plan.Steps, plan.Planned{Step: plan.CreateTargetGroup{}})
	}
	r.carryOut(r.Waits.WithCalls(t.Context(), key), &o)
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	return kept.saved, meta.FindStatusCondition(o.Snapshot.Record.Conditions, v1alpha1.ConditionWaiting)
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

// What waits from one reconcile to the next is told after a while, and its text changes only with
// what it waits for.
func TestTheConditionChangesOnlyWithWhatIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const key = lb.Key("fairlead/shop/web/internal")
		r := &Reconciler{Parts: Parts{Waits: &queue.Waits{}}}
		g := &gather.Snapshot{}
		g.Key = key
		var changes []string
		reconcile := func(err error, pending ...plan.Step) {
			o := outcome{Snapshot: g, Observed: &lb.Observed{Key: key, TargetGroups: []lb.ObservedTargetGroup{{TargetGroup: lb.TargetGroup{ID: "shop/web:80"}}}}, Err: err, Run: providers.Outcome{Pending: pending}}
			next := *g.Record.DeepCopy()
			r.warmups.add(o.Observed, pending, err == nil, time.Now())
			setWaiting(&next, r.waitsFor(o, &next, time.Now()), time.Now())
			if !equality.Semantic.DeepEqual(g.Record, next) {
				c := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionWaiting)
				changes = append(changes, string(c.Status)+" "+c.Reason)
			}
			g.Record = next
		}
		for range 60 {
			reconcile(providers.ErrPending, plan.AwaitTargets{Group: "shop/web:80"})
			time.Sleep(time.Second)
		}
		if _, longest := r.Waits.Longest(); longest[v1alpha1.ReasonTargetHealth] != time.Minute {
			t.Errorf("the longest waits are %v", longest)
		}
		r.Waits, r.warmups.byGroup = &queue.Waits{}, nil // another process goes on
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
		if count, _ := r.Waits.Longest(); len(count) > 0 {
			t.Errorf("in the end %v are waited for", count)
		}
	})
}

// A process that takes over goes on with the wait that the one before it has told of.
func TestAWaitOutlivesTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := records.Record{}
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
		r := &Reconciler{Parts: Parts{Waits: &queue.Waits{}, Gatherer: &gather.Gatherer{Records: records.NewCache(&countingKeeper{}, false)}}}
		long := working(func(context.Context, string) error { time.Sleep(time.Minute); return nil })
		b := queue.NewBounded(long, 1, queue.NewLiveness(time.Hour), "loadbalancers", func(ctx context.Context, key string) func() {
			return r.Queued(ctx, lb.Key(key))
		})
		for _, key := range []string{"first", "second"} {
			go func() { _, _ = b.Reconcile(context.Background(), key) }()
			synctest.Wait()
		}
		time.Sleep(30 * time.Second)
		if count, longest := r.Waits.Longest(); count[v1alpha1.ReasonQueued] != 1 || longest[v1alpha1.ReasonQueued] != 30*time.Second {
			t.Errorf("%v wait, for %v; want one, for 30 s", count, longest)
		}
		time.Sleep(2 * time.Minute)
		if count, _ := r.Waits.Longest(); count[v1alpha1.ReasonQueued] != 0 {
			t.Errorf("%v wait", count)
		}
	})
}

// Load balancers whose calls wait for the cloud's rate leave the slots to others, however short
// each wait is.
func TestWorkThatWaitsForATurnHasNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Reconciler{Parts: Parts{Waits: &queue.Waits{}}}
		turns := providers.NewTurns(2, 1)
		var took time.Duration
		began := time.Now()
		b := queue.NewBounded(working(func(ctx context.Context, key string) error {
			if key == "quiet" {
				took = time.Since(began)
				return nil
			}
			ctx = r.Waits.WithCalls(ctx, lb.Key(key))
			for range 100 {
				if err := turns.Wait(ctx); err != nil {
					return err
				}
			}
			return nil
		}), 4, queue.NewLiveness(time.Hour), "loadbalancers", nil)
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

// A forgetful keeper cannot be read the first few times.
type forgetful struct {
	records.Store
	times int
}

func (f *forgetful) Load(context.Context) (map[lb.Key]records.Record, error) {
	if f.times--; f.times >= 0 {
		return nil, errors.New("the API server does not answer")
	}
	return map[lb.Key]records.Record{"fairlead/shop/web/internal": {}}, nil
}

func TestAFirstReadOfRecordsThatFailsIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Reconciler{Parts: Parts{Gatherer: &gather.Gatherer{Records: records.NewCache(&forgetful{times: 3}, false)}}}
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[lb.Key]())
		defer q.ShutDown()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		if err := r.enqueueRemembered(ctx, q); err != nil {
			t.Fatalf("the operator would end: %v", err)
		}
		time.Sleep(time.Second)
		if q.Len() != 1 {
			t.Errorf("%d load balancers are woken, want 1", q.Len())
		}
	})
}

// An empty cache does not answer.
type emptyCache struct{ client.Reader }

func (emptyCache) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestWithoutTheRightToReadNodesNoWorkerIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if _, err := cluster.NodesIn(t.Context(), emptyCache{}); err == nil || !strings.Contains(err.Error(), "permissions to list and to watch") {
			t.Errorf("the error is %v", err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("a worker is held for %s", took)
		}
	})
}

// A report that is written while the operator ends waits for nobody to read what it sends.
func TestNothingIsSentForGoodWhenTheOperatorEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		r := &Reconciler{Parts: Parts{Ended: ended}} // the channels take nothing
		close(ended)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), reportFor)
		defer cancel()
		r.Awaken(ctx, []lb.Key{"a", "b"})
		r.enqueueUnassigned(ctx, []string{"shop/a"})
		if took := time.Since(began); took > 0 {
			t.Errorf("it takes %s", took)
		}
	})
}

// working is a reconciler that does some work.
func working(work func(ctx context.Context, key string) error) reconcile.TypedReconciler[string] {
	return reconcile.TypedFunc[string](func(ctx context.Context, key string) (reconcile.Result, error) {
		return reconcile.Result{}, work(ctx, key)
	})
}
