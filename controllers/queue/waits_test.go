package queue

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

const (
	shop = lb.Key("fairlead/shop/web/internal")
	blog = lb.Key("fairlead/blog/web/internal")
	rate = v1alpha1.ReasonRateLimited
)

// Each reason is reported, and no reason twice.
func TestReasonsDiffer(t *testing.T) {
	reasons := Reasons()
	if !slices.Contains(reasons, rate) || len(slices.Compact(slices.Sorted(slices.Values(reasons)))) != len(reasons) {
		t.Errorf("the reasons are %q", reasons)
	}
}

// Waits that are less than the lull apart count as one, that began with the first of them.
func TestWaitsThatAreCloseTogetherAreOne(t *testing.T) {
	for name, c := range map[string]struct {
		pause time.Duration // between the first wait and the second one
		one   bool
	}{
		"at once":            {0, true},
		"just before a lull": {Lull - time.Millisecond, true},
		"a lull later":       {Lull, false},
		"an hour later":      {time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w Waits
				began := time.Now()
				over := w.Begin(shop, rate)
				time.Sleep(time.Second)
				over()
				if w.UnderWay(shop, rate) {
					t.Error("the wait that is over is under way")
				}
				time.Sleep(c.pause)
				between := w.Since(shop, rate)
				if c.one != between.Equal(began) || c.one == between.IsZero() {
					t.Errorf("after the pause it waits since %s, began at %s", between, began)
				}
				second := time.Now()
				w.Begin(shop, rate)
				want := second
				if c.one {
					want = began
				}
				if got := w.Since(shop, rate); !got.Equal(want) {
					t.Errorf("in the second wait it waits since %s, want %s", got, want)
				}
				if !w.UnderWay(shop, rate) {
					t.Error("the second wait is not under way")
				}
			})
		})
	}
}

// A load balancer waits until the last of its waits is over.
func TestAWaitIsUnderWayUntilTheLastOneEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Waits
		began := time.Now()
		first := w.Begin(shop, rate)
		second := w.Begin(shop, rate)
		first()
		time.Sleep(time.Hour)
		if !w.UnderWay(shop, rate) || !w.Since(shop, rate).Equal(began) {
			t.Errorf("with one under way it waits since %s, began at %s", w.Since(shop, rate), began)
		}
		second()
		if w.UnderWay(shop, rate) {
			t.Error("it waits when both are over")
		}
	})
}

// Waits of other load balancers and for other reasons are others.
func TestWaitsAreOfOneLoadBalancerForOneReason(t *testing.T) {
	var w Waits
	if w.UnderWay(shop, rate) || !w.Since(shop, rate).IsZero() || w.NewlyLong(shop) {
		t.Error("there is a wait before one has begun")
	}
	w.Begin(shop, rate)
	for _, other := range []struct {
		key    lb.Key
		reason string
	}{{blog, rate}, {shop, v1alpha1.ReasonCloud}} {
		if w.UnderWay(other.key, other.reason) || !w.Since(other.key, other.reason).IsZero() {
			t.Errorf("%s waits for %s", other.key, other.reason)
		}
	}
}

// A wait that is set goes on until the zero time is set, and then ends at once.
func TestAWaitIsSetAndEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Waits
		since := time.Now().Add(-time.Minute)
		for range 2 {
			w.Set(shop, v1alpha1.ReasonCloud, since)
			time.Sleep(time.Minute)
			if got := w.Since(shop, v1alpha1.ReasonCloud); !got.Equal(since) {
				t.Errorf("it waits since %s, want %s", got, since)
			}
		}
		w.Set(shop, v1alpha1.ReasonCloud, time.Time{})
		if got := w.Since(shop, v1alpha1.ReasonCloud); !got.IsZero() {
			t.Errorf("after the end it waits since %s", got)
		}
	})
}

// A wait for the rate is reported once when it has become long. One that begins after it is another.
func TestALongWaitIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Waits
		for range 2 {
			over := w.Begin(shop, rate)
			time.Sleep(LongWait - time.Millisecond)
			if w.NewlyLong(shop) {
				t.Errorf("it is long after less than %s", LongWait)
			}
			time.Sleep(time.Millisecond)
			if !w.NewlyLong(shop) {
				t.Errorf("it is not long after %s", LongWait)
			}
			time.Sleep(time.Minute)
			if w.NewlyLong(shop) {
				t.Error("it is reported twice")
			}
			over()
			time.Sleep(Lull)
		}
	})
}

// A wait that is over is not reported, however long ago it began. One for something else is not
// either.
func TestOnlyAWaitForTheRateThatGoesOnIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Waits
		w.Begin(shop, rate)()
		w.Begin(shop, v1alpha1.ReasonCloud)
		time.Sleep(time.Hour)
		if w.NewlyLong(shop) {
			t.Error("a wait that is over is reported")
		}
	})
}

// A load balancer that is forgotten does not wait; others do.
func TestALoadBalancerThatIsForgottenDoesNotWait(t *testing.T) {
	var w Waits
	w.Begin(shop, rate)
	w.Begin(blog, rate)
	w.Forget(shop)
	if w.UnderWay(shop, rate) || !w.UnderWay(blog, rate) {
		t.Error("after one is forgotten, the wrong one waits")
	}
}

// The gauges have, by reason, how many load balancers wait and the longest of their waits.
func TestGaugesHaveTheLongestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Waits
		w.Begin(shop, v1alpha1.ReasonCloud)()
		w.Begin(shop, rate)
		time.Sleep(time.Minute)
		w.Begin(blog, rate)
		w.Set(blog, v1alpha1.ReasonQuota, time.Now())
		time.Sleep(time.Second)
		count, longest := w.Longest()
		if want := map[string]int{rate: 2, v1alpha1.ReasonQuota: 1}; !maps.Equal(count, want) {
			t.Errorf("load balancers that wait: %v, want %v", count, want)
		}
		want := map[string]time.Duration{rate: time.Minute + time.Second, v1alpha1.ReasonQuota: time.Second}
		if !maps.Equal(longest, want) {
			t.Errorf("the longest waits are %v, want %v", longest, want)
		}
	})
}

// A waiter is a reconciler that waits for its turn for a time.
type waiter struct {
	waits *Waits
	long  map[lb.Key]time.Duration
}

func (r waiter) Reconcile(ctx context.Context, key lb.Key) (reconcile.Result, error) {
	asker := providers.AskerOf(r.waits.WithCalls(ctx, key))
	over := asker.Waits()
	time.Sleep(r.long[key])
	over()
	time.Sleep(r.long[asker.Key])
	return reconcile.Result{}, nil
}

// A call that waits for its turn counts as a wait of its load balancer. Meanwhile another one is
// reconciled, with the only slot that there is; afterwards it is not.
func TestACallThatWaitsForItsTurnHasNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Waits
		r := waiter{&w, map[lb.Key]time.Duration{shop: time.Minute}}
		b := NewBounded(r, 1, NewLiveness(time.Hour), "loadbalancers", nil)
		go func() { _, _ = b.Reconcile(t.Context(), shop) }()
		synctest.Wait()
		for _, c := range []struct {
			when    string
			waiting bool
			took    time.Duration
		}{
			{"while the call waits for its turn", true, 0},
			{"once it has had its turn", false, time.Minute - time.Second},
		} {
			if w.UnderWay(shop, rate) != c.waiting {
				t.Errorf("%s, a wait is under way: %v", c.when, !c.waiting)
			}
			began := time.Now()
			if _, err := b.Reconcile(t.Context(), blog); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != c.took {
				t.Errorf("%s, another reconcile takes %s, want %s", c.when, took, c.took)
			}
			time.Sleep(time.Minute + time.Second)
		}
	})
}
