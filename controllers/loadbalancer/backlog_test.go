package loadbalancer

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// observed are how many changes were measured, and how long they took together.
func observed(t *testing.T, m *metrics.Recorder, loop string) (count uint64, sum time.Duration) {
	t.Helper()
	var out dto.Metric
	if err := m.Changes.WithLabelValues(loop).(prometheus.Histogram).Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Histogram.GetSampleCount(), time.Duration(out.Histogram.GetSampleSum() * float64(time.Second))
}

// A change counts from when it is heard of until the cloud has it, whatever fails meanwhile and
// whatever else changes.
func TestAChangeIsMeasuredUntilTheCloudHasIt(t *testing.T) {
	const key = lb.Key("fairlead/shop/web/internal")
	todo := plan.Plan{Steps: []plan.Planned{{Step: plan.DeleteRule{Port: 80, Priority: 1}}}}
	for name, c := range map[string]struct {
		run    func(reconcile func(outcome), hear func())
		count  uint64
		took   time.Duration
		oldest time.Duration
	}{
		"done at once": {func(reconcile func(outcome), hear func()) {
			hear()
			time.Sleep(3 * time.Second)
			reconcile(outcome{Plan: todo})
		}, 1, 3 * time.Second, 0},
		"nothing had to be done": {func(reconcile func(outcome), hear func()) {
			hear()
			time.Sleep(3 * time.Second)
			reconcile(outcome{})
		}, 0, 0, 0},
		"it fails twice, and another change comes": {func(reconcile func(outcome), hear func()) {
			hear()
			reconcile(outcome{Plan: todo, Err: providers.ErrDenied})
			time.Sleep(time.Minute)
			hear()
			reconcile(outcome{Plan: todo, Err: providers.ErrThrottled})
			time.Sleep(time.Minute)
			reconcile(outcome{Plan: todo})
		}, 1, 2 * time.Minute, 0},
		"it fails on and on": {func(reconcile func(outcome), hear func()) {
			hear()
			for range 60 {
				reconcile(outcome{Plan: todo, Err: providers.ErrDenied})
				time.Sleep(time.Minute)
			}
		}, 0, 0, time.Hour},
		"no worker takes it": {func(_ func(outcome), hear func()) {
			hear()
			time.Sleep(time.Minute)
			hear()
		}, 0, 0, time.Minute},
		"it is paused": {func(reconcile func(outcome), hear func()) {
			hear()
			reconcile(outcome{Plan: todo, Withheld: v1alpha1.ReasonPaused})
			time.Sleep(time.Hour)
			reconcile(outcome{Plan: todo, Withheld: v1alpha1.ReasonPaused})
		}, 0, 0, 0},
		"what drifted is mended": {func(reconcile func(outcome), _ func()) {
			reconcile(outcome{Plan: todo})
		}, 0, 0, 0},
		"the load balancer is being set up": {func(reconcile func(outcome), hear func()) {
			hear()
			reconcile(outcome{Plan: todo, Observed: &lb.Observed{Exists: true}})
			time.Sleep(3 * time.Minute)
			reconcile(outcome{Observed: &lb.Observed{Exists: true, Active: true}})
		}, 1, 3 * time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &Reconciler{Parts: Parts{Metrics: metrics.NewRecorder(metrics.NewRequests(), &metrics.Reads{}, "", nil)}}
				c.run(func(o outcome) {
					r.backlog.Begin(key)
					o.Snapshot = &gather.Snapshot{}
					o.Snapshot.Key = key
					if o.Observed == nil {
						o.Observed = &lb.Observed{}
					}
					r.measure(o)
				}, func() { r.backlog.NoteChange(key) })
				if count, took := observed(t, r.Metrics, queue.BalancersLoop); count != c.count || took != c.took {
					t.Errorf("%d changes were measured that took %s, want %d that took %s", count, took, c.count, c.took)
				}
				if oldest := r.backlog.Oldest(); oldest != c.oldest {
					t.Errorf("the oldest change that is not met is %s old, want %s", oldest, c.oldest)
				}
			})
		})
	}
}
