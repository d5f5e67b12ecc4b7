package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// A looker is a cloud that notes how it is looked at.
type looker struct {
	providers.Provider
	deep   []bool
	unread []string
	failed error // of what is asked, not observed
}

func (l *looker) Active(context.Context, *lb.Observed) (bool, error) {
	return l.failed == nil, l.failed
}

func (l *looker) Observe(_ context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	l.deep = append(l.deep, deep)
	return &lb.Observed{Key: key, Unread: l.unread}, nil
}

// Settings that could not be read are read again soon.
func TestWhatCouldNotBeReadIsReadAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := &looker{unread: []string{"AccessDenied"}}
		o := &observer{cloud: cloud, every: 10 * time.Hour}
		for range 3 {
			seen, err := o.observe(t.Context(), "fairlead/shop/web/internal")
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(rereads(seen))
		}
		if diff := cmp.Diff([]bool{false, true, true}, cloud.deep); diff != "" {
			t.Errorf("looks, and whether they are deep (-want +got):\n%s", diff)
		}
		cloud.unread = nil
		if seen, err := o.observe(t.Context(), "fairlead/shop/web/internal"); err != nil || rereads(seen) != 0 {
			t.Errorf("error %v, and it is come back for in %s", err, rereads(seen))
		}
	})
}

// What was seen is believed for about as long as it is to be, and then looked at deeply: by then
// somebody may have changed a value and left the digest beside it. Load balancers that were first
// seen together are not looked at together again.
func TestALookIsRepeatedInDepthAndAtOddTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := &looker{}
		o := &observer{cloud: cloud, every: 10 * time.Hour}
		look := func() (looks, deep int) {
			cloud.deep = nil
			for i := range 100 {
				if _, err := o.observe(t.Context(), lb.Key(fmt.Sprintf("fairlead/shop/web-%d/internal", i))); err != nil {
					t.Fatal(err)
				}
			}
			for _, d := range cloud.deep {
				if d {
					deep++
				}
			}
			return len(cloud.deep), deep
		}
		if looks, deep := look(); looks != 100 || deep != 0 {
			t.Errorf("at first: %d looks, %d of them deep", looks, deep)
		}
		time.Sleep(4 * time.Minute)
		if looks, deep := look(); looks != 100 || deep != 0 {
			t.Errorf("once what was written before is found: %d looks, %d of them deep", looks, deep)
		}
		time.Sleep(9*time.Hour - 5*time.Minute)
		if looks, _ := look(); looks != 0 {
			t.Errorf("after nine hours: %d looks", looks)
		}
		most, all := 0, 0
		for range 13 {
			time.Sleep(10 * time.Minute)
			looks, deep := look()
			if looks != deep {
				t.Errorf("%d of %d looks are not deep", looks-deep, looks)
			}
			most, all = max(most, looks), all+looks
		}
		if all != 100 || most > 30 {
			t.Errorf("between nine and eleven hours there are %d looks, %d of them within ten minutes", all, most)
		}
	})
}

// A look may not find what was written a moment before it. It is repeated once, not in depth, and
// so is the first one of a process.
func TestALookAfterAWriteIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := &looker{}
		o := &observer{cloud: cloud, every: 10 * time.Hour}
		const key = lb.Key("fairlead/shop/web/internal")
		looks := func(within time.Duration) (times []time.Duration) {
			began := time.Now()
			for time.Since(began) < within {
				cloud.deep = nil
				if _, err := o.observe(t.Context(), key); err != nil {
					t.Fatal(err)
				}
				if len(cloud.deep) > 0 {
					times = append(times, time.Since(began).Truncate(time.Minute))
				}
				if again := o.again(key); again > 11*time.Hour {
					t.Errorf("the next look is to be in %s", again)
				}
				time.Sleep(10 * time.Second)
			}
			return times
		}
		if at := looks(time.Hour); len(at) != 2 || at[1] < 2*time.Minute || at[1] > 3*time.Minute {
			t.Errorf("a process looks at %v after its start", at)
		}
		o.noteWrite(key)
		if at := looks(time.Hour); len(at) != 0 {
			t.Errorf("what was written is known, and looked for at %v", at)
		}
		o.noteWrite(key)
		o.forget(key)
		if at := looks(time.Hour); len(at) != 2 || at[1] < 2*time.Minute || at[1] > 3*time.Minute {
			t.Errorf("after a write that failed it looks at %v", at)
		}
		o.forget(key)
		if at := looks(time.Hour); len(at) != 1 {
			t.Errorf("when nothing was written it looks at %v", at)
		}
	})
}

// Until when a look is believed: an early one at least until all that was written is in what a look
// finds.
func TestUntilWhenALookIsBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for name, c := range map[string]struct {
			s     sight
			quiet time.Duration
			want  time.Duration
		}{
			"a usual one":              {sight{until: now.Add(time.Minute)}, time.Hour, time.Minute},
			"an early one":             {sight{until: now.Add(time.Minute), early: true}, 2 * time.Minute, 2 * time.Minute},
			"an early one, long quiet": {sight{until: now.Add(time.Hour), early: true}, time.Minute, time.Hour},
		} {
			o := &observer{every: 10 * time.Hour, kept: map[lb.Key]sight{"k": c.s}, quiet: map[lb.Key]time.Time{"k": now.Add(c.quiet)}}
			if got := o.recall("k").until.Sub(now); got != c.want {
				t.Errorf("%s is believed for %s, want %s", name, got, c.want)
			}
			if got := o.again("k"); got != c.want {
				t.Errorf("%s is repeated in %s, want %s", name, got, c.want)
			}
		}
		soon := &observer{every: providers.ReadLag, quiet: map[lb.Key]time.Time{"k": now.Add(time.Hour)}}
		if got := soon.due("k", sight{until: now.Add(time.Minute), early: true}).Sub(now); got != time.Minute {
			t.Errorf("where looks are repeated that soon anyway, an early one is believed for %s", got)
		}
		o := &observer{every: 10 * time.Hour}
		if got := o.again("k"); got < 9*time.Hour {
			t.Errorf("what was not looked at is looked at in %s", got)
		}
		o.noteWrite("k")
		o.noteWrite("j")
		if len(o.quiet) != 2 {
			t.Errorf("it is known when %d load balancers were written", len(o.quiet))
		}
	})
}

// What is told of a target group counts once: what comes to be known of it later is not told over.
func TestWhatIsToldOfAGroupCountsOnce(t *testing.T) {
	seen := &lb.Observed{TargetGroups: []lb.ObservedTargetGroup{{TargetGroup: lb.TargetGroup{ID: "g"}}}}
	o := &observer{every: time.Hour, kept: map[lb.Key]sight{"k": {seen: seen}}}
	o.noteTargets("k", "g", true)
	if !o.recall("k").seen.TargetGroups[0].Registered {
		t.Error("it is not told")
	}
	seen.TargetGroups[0].Registered, seen.TargetGroups[0].Ready = false, true
	if g := o.recall("k").seen.TargetGroups[0]; g.Registered || !g.Ready {
		t.Errorf("it is told again: %+v", g)
	}
	o.drop("k")
	if len(o.kept) > 0 || len(o.quiet) > 0 {
		t.Error("what is gone is kept")
	}
}

// Whether a load balancer is active is asked only of one that is there, and was not.
func TestOnlyWhatIsBeingSetUpIsAskedFor(t *testing.T) {
	o := &observer{} // which has no cloud to ask
	for _, seen := range []*lb.Observed{{}, {Exists: true, Active: true}} {
		if err := o.await(t.Context(), seen); err != nil {
			t.Error(err)
		}
	}
	o.keep("k", &lb.Observed{})
	o.drop("k")
	if len(o.quiet) > 0 {
		t.Error("it is known when something was written that is gone")
	}
	for _, failed := range []error{nil, errors.New("timeout")} {
		o, seen := &observer{cloud: &looker{failed: failed}}, &lb.Observed{Exists: true}
		if err := o.await(t.Context(), seen); !errors.Is(err, failed) || seen.Active != (failed == nil) {
			t.Errorf("the cloud answers %v: error %v, and it is active: %t", failed, err, seen.Active)
		}
	}
}

// Each observation of the cloud is told, and none that is only remembered.
func TestEachObservationIsTold(t *testing.T) {
	var told []lb.Key
	o := &observer{cloud: &looker{}, every: time.Hour, looked: func(_ context.Context, key lb.Key) { told = append(told, key) }}
	for _, key := range []lb.Key{"a", "a", "b"} {
		if _, err := o.observe(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]lb.Key{"a", "b"}, told); diff != "" {
		t.Errorf("what is told (-want +got):\n%s", diff)
	}
}
