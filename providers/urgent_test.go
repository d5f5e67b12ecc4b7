package providers_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// Of the steps that may start, those that restrict start first, and those that they need.
func TestUrgentStepsStartFirst(t *testing.T) {
	p := plan.Plan{Steps: []plan.Planned{
		{Step: plan.CreateTargetGroup{Group: lb.TargetGroup{ID: "new"}}},
		{Step: plan.CreateRule{Port: 80, Priority: 1}},
		{Step: plan.CreateTargetGroup{Group: lb.TargetGroup{ID: "needed"}}},
		{Step: plan.ModifyRule{Port: 80, Priority: 2}, After: []int{2}},
		{Step: plan.DeleteRule{Port: 80, Priority: 3}},
	}}
	cloud := &scripted{}
	if _, err := providers.Run(t.Context(), cloud, &lb.Observed{}, p, providers.Options{Parallel: 1}); err != nil {
		t.Fatal(err)
	}
	want := []string{"needed", "80/2", "80/3", "new", "80/1"}
	if !slices.Equal(cloud.applied, want) {
		t.Errorf("steps are applied as %q, want %q", cloud.applied, want)
	}
}

// A load balancer that restricts something does not wait behind many that only add.
func TestWhatRestrictsDoesNotWaitForWhatAdds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watch := newStopwatch()
		cloud := providers.LimitRate(watch, 1, 1)
		var all sync.WaitGroup
		run := func(key lb.Key, p plan.Plan) {
			all.Go(func() {
				if _, err := providers.Run(t.Context(), cloud, &lb.Observed{Key: key}, p, providers.Options{}); err != nil {
					t.Error(err)
				}
			})
		}
		for _, key := range []lb.Key{"a", "b", "c", "d", "e", "f", "g", "h"} {
			run(key, independent(20))
		}
		time.Sleep(10 * time.Second)
		began := time.Since(watch.start)
		run("restricted", plan.Plan{Steps: []plan.Planned{{Step: plan.DeleteRule{Port: 80, Priority: 3}}}})
		all.Wait()
		if took := watch.last(t, "restricted", 1) - began; took > 2*time.Second {
			t.Errorf("it takes %s, want two turns at most", took)
		}
	})
}

// A rate that changes is that of those who wait already.
func TestARateThatChangesHoldsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := providers.NewTurns(0.01, 1)
		began := time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := turns.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Second)
		turns.SetRate(1)
		all.Wait()
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("three calls take %s, want 3 s at most", took)
		}
	})
}

// The asker is told of a wait, and of none where there is none.
func TestAWaitForATurnIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := providers.NewTurns(1, 1)
		var begun, over int
		ctx := providers.WithAsker(t.Context(), providers.Asker{Key: "a", Waits: func() func() {
			begun++
			return func() { over++ }
		}})
		for i := range 3 {
			if err := turns.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			if begun != i || over != i {
				t.Errorf("after call %d: %d waits began and %d ended, want %d", i+1, begun, over, i)
			}
		}
	})
}
