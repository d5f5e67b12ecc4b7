package metrics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// This file tests what is scraped.

// scraped are the series of a recorder: each with its labels, and its value or how many values it
// has had.
func scraped(t *testing.T, m *Recorder) []string {
	t.Helper()
	to := prometheus.NewPedanticRegistry()
	if err := to.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := to.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range families {
		for _, s := range f.Metric {
			out = append(out, series(f.GetName(), s))
		}
	}
	return out
}

func series(name string, s *dto.Metric) string {
	var labels []string
	for _, l := range s.Label {
		labels = append(labels, l.GetValue())
	}
	value := fmt.Sprint(s.GetCounter().GetValue() + s.GetGauge().GetValue())
	if h := s.GetHistogram(); h != nil {
		value = fmt.Sprintf("%d in %g s", h.GetSampleCount(), h.GetSampleSum())
	}
	return fmt.Sprintf("%s{%s} %s", name, strings.Join(labels, ","), value)
}

func noGauges(func(Metric, float64, ...string)) {}

// A cloud takes a second for each call, and answers what a test says.
type cloud struct {
	providers.Provider
	err error
}

func (c *cloud) Apply(context.Context, *lb.Observed, plan.Step) (plan.Result, error) {
	time.Sleep(time.Second)
	return plan.Result{}, c.err
}

func (c *cloud) Targets(context.Context, lb.Key, lb.GroupID) ([]lb.TargetHealth, error) {
	time.Sleep(time.Second)
	return nil, c.err
}

// A counter or a histogram of the table that no Recorder makes would be on the page, and nowhere else.
func TestEveryCounterIsCollected(t *testing.T) {
	m := NewRecorder(NewRequests(), &Reads{}, "", noGauges)
	described := make(chan *prometheus.Desc, 2*len(table))
	for _, c := range m.collectors {
		c.Describe(described)
	}
	close(described)
	collected := map[string]bool{objectsRead.desc().String(): true} // of which Collect knows the value
	for d := range described {
		collected[d.String()] = true
	}
	for _, row := range table {
		if row.kind != "gauge" && !collected[row.desc().String()] {
			t.Errorf("%s is in the table, and NewRecorder does not make it", row.Name)
		}
	}
	if len(collected) < 5 {
		t.Errorf("only %d are collected", len(collected))
	}
}

// Each call is counted and timed, and each step is counted. The oldest call under way has an age.
func TestCallsAreMetered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cloud{}
		m := NewRecorder(NewRequests(), &Reads{}, "1.2.3", noGauges)
		p := Metered(c, m)
		for _, c.err = range []error{nil, nil, providers.ErrPending} {
			if _, err := p.Apply(t.Context(), &lb.Observed{}, plan.CreateTargetGroup{}); !errors.Is(err, c.err) {
				t.Errorf("the call returns %v", err)
			}
		}
		m.requests.Count("elbv2", "CreateRule", "ok")
		m.requests.SetInFlight("elbv2", "changes", 3, 8)
		m.Took("targets")(3 * time.Second)
		m.Compiles.Observe(2)
		m.Plans.WithLabelValues("ok").Inc()
		m.Proofs.WithLabelValues("proven").Inc()
		c.err = nil
		go func() { _, _ = p.Targets(t.Context(), "key", "group") }()
		time.Sleep(time.Second / 2)
		got := scraped(t, m)
		want := []string{
			"fairlead_build_info{1.2.3} 1", "fairlead_change_seconds{targets} 1 in 3 s", "fairlead_cloud_requests_in_flight{changes,elbv2} 3", "fairlead_cloud_requests_in_flight_limit{changes,elbv2} 8", "fairlead_cloud_requests_total{CreateRule,ok,elbv2} 1",
			"fairlead_compile_seconds{} 1 in 2 s", "fairlead_defects_total{unproven_plan} 0", "fairlead_objects_read_total{} 0",
			"fairlead_plan_proofs_total{proven} 1", "fairlead_plan_steps_total{target group,create,ok} 2", "fairlead_plan_steps_total{target group,create,pending} 1", "fairlead_plans_total{ok} 1",
			"fairlead_provider_call_oldest_seconds{} 0.5", "fairlead_provider_call_seconds{Apply} 3 in 3 s", "fairlead_provider_calls_total{Apply,ok} 2", "fairlead_provider_calls_total{Apply,pending} 1",
		}
		if !slices.Equal(got, want) {
			t.Errorf("there is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		time.Sleep(time.Second)
		if got := scraped(t, m); !slices.Contains(got, "fairlead_provider_call_oldest_seconds{} 0") {
			t.Errorf("with no call under way there is %q", got)
		}
	})
}

func TestTheResultsOfCalls(t *testing.T) {
	for want, err := range map[string]error{
		"ok": nil, "pending": providers.ErrPending, "rejected": providers.ErrRejected, "denied": providers.ErrDenied, "throttled": providers.ErrThrottled,
		"stopped": context.Canceled, "error": errors.New("another"),
	} {
		if got := ResultOf(err); got != want {
			t.Errorf("the result of %v is %s, want %s", err, got, want)
		}
		if err != nil && ResultOf(fmt.Errorf("applying: %w", err)) != want {
			t.Errorf("the result of a wrapped %v is %s, want %s", err, ResultOf(fmt.Errorf("applying: %w", err)), want)
		}
	}
}

// A call that takes long is logged with its step or its target group.
func TestTheDetailsOfCalls(t *testing.T) {
	step := providers.Call{Method: "Apply", Step: plan.CreateTargetGroup{}}
	for _, c := range []struct {
		call providers.Call
		want []any
	}{
		{providers.Call{Method: "List"}, nil},
		{providers.Call{Method: "Targets", Group: "shop/web:80"}, []any{"targetGroup", lb.GroupID("shop/web:80")}},
		{step, []any{"step", step.Change()}},
	} {
		if got := details(c.call); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("the details of %s are %v, want %v", c.call.Method, got, c.want)
		}
	}
}

// A build without a version says so, and gauges are counted when they are scraped.
func TestGaugesAreCountedWhenScraped(t *testing.T) {
	rules := 1.0
	m := NewRecorder(NewRequests(), &Reads{}, "", func(emit func(Metric, float64, ...string)) { emit(RulesGauge, rules, "key") })
	rules = 2
	got := scraped(t, m)
	for _, want := range []string{"fairlead_build_info{unknown} 1", "fairlead_load_balancer_rules{key} 2"} {
		if !slices.Contains(got, want) {
			t.Errorf("there is %q, want %s", got, want)
		}
	}
}

// A replica has metrics while it runs, as the leader or not. Of two in a process, the first one's
// are seen; a registry that refuses them ends the second.
func TestAReplicaHasMetricsWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := prometheus.NewRegistry()
		ctx, end := context.WithCancel(t.Context())
		m := NewRecorder(NewRequests(), &Reads{}, "first", noGauges)
		e := NewExposition(m, to)
		if e.(interface{ NeedLeaderElection() bool }).NeedLeaderElection() {
			t.Error("only the leader has metrics")
		}
		ended := make(chan error, 1)
		go func() { ended <- e.Start(ctx) }()
		synctest.Wait()
		if families, err := to.Gather(); err != nil || len(families) == 0 {
			t.Errorf("there are %v, error %v", families, err)
		}
		if err := NewExposition(NewRecorder(NewRequests(), &Reads{}, "second", noGauges), to).Start(t.Context()); err != nil {
			t.Errorf("a second operator: %v", err)
		}
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if families, err := to.Gather(); err != nil || len(families) > 0 {
			t.Errorf("afterwards there are %v, error %v", families, err)
		}
		taken := prometheus.NewRegistry()
		taken.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: build.Name, Help: "of another"}))
		if err := NewExposition(m, taken).Start(t.Context()); err == nil {
			t.Error("metrics that another one has registered are taken")
		}
	})
}
