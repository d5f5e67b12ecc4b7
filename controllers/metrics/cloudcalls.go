package metrics

import (
	"context"
	"errors"
	"strings"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// This file counts and times the calls of a provider.

// metered is a provider whose calls are counted and timed.
type metered struct {
	providers.Provider
	metrics *Recorder
}

// Metered counts and times the calls of a provider.
func Metered(p providers.Provider, m *Recorder) providers.Provider { return metered{p, m} }

func (m metered) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	defer m.clock(ctx, "Lookup")()
	facts, err := m.Provider.Lookup(ctx, q)
	m.count("Lookup", err)
	return facts, err
}

func (m metered) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	defer m.clock(ctx, "Observe")()
	seen, err := m.Provider.Observe(ctx, key, deep)
	m.count("Observe", err)
	return seen, err
}

func (m metered) Active(ctx context.Context, seen *lb.Observed) (bool, error) {
	defer m.clock(ctx, "Active")()
	active, err := m.Provider.Active(ctx, seen)
	m.count("Active", err)
	return active, err
}

// Apply counts the call and the step.
func (m metered) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	defer m.clock(ctx, "Apply", "step", step.Op()+" "+step.ID())()
	result, err := m.Provider.Apply(ctx, seen, step)
	m.count("Apply", err)
	op, kind, _ := strings.Cut(step.Op(), " ")
	m.metrics.steps.WithLabelValues(op, kind, ResultOf(err)).Inc()
	return result, err
}

func (m metered) Targets(ctx context.Context, key lb.Key, group lb.GroupID) ([]lb.TargetHealth, error) {
	defer m.clock(ctx, "Targets", "targetGroup", group)()
	healths, err := m.Provider.Targets(ctx, key, group)
	m.count("Targets", err)
	return healths, err
}

func (m metered) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	defer m.clock(ctx, "SetTargets", "targetGroup", group)()
	err := m.Provider.SetTargets(ctx, key, group, want)
	m.count("SetTargets", err)
	return err
}

func (m metered) List(ctx context.Context) ([]lb.Key, error) {
	defer m.clock(ctx, "List")()
	keys, err := m.Provider.List(ctx)
	m.count("List", err)
	return keys, err
}

// clock starts to time a call. The function that it returns ends that.
func (m metered) clock(ctx context.Context, call string, about ...any) func() {
	begin := time.Now()
	ended := m.metrics.underWay.Begin(ctx, call, about...)
	return func() {
		ended()
		m.metrics.durations.WithLabelValues(call).Observe(time.Since(begin).Seconds())
	}
}

func (m metered) count(call string, err error) {
	m.metrics.calls.WithLabelValues(call, ResultOf(err)).Inc()
}

// ResultOf returns the label of the result of a call.
func ResultOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, providers.ErrPending):
		return "pending"
	case errors.Is(err, providers.ErrRejected):
		return "rejected"
	case errors.Is(err, providers.ErrDenied):
		return "denied"
	case errors.Is(err, providers.ErrThrottled):
		return "throttled"
	case errors.Is(err, context.Canceled):
		return "stopped"
	}
	return "error"
}
