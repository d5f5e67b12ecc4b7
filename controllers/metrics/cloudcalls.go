package metrics

import (
	"context"
	"errors"
	"strings"
	"time"

	"fairlead.dev/fairlead/providers"
)

// This file counts and times the calls of a provider.

// Metered returns a provider whose calls are counted and timed.
func Metered(p providers.Provider, m *Recorder) providers.Provider {
	return providers.Intercept(p, m.meter)
}

// meter counts and times a call, and counts the step that it applies.
func (m *Recorder) meter(ctx context.Context, c providers.Call, next providers.Next) error {
	begin := time.Now()
	ended := m.underWay.Begin(ctx, c.Method, details(c)...)
	defer func() {
		ended()
		m.durations.WithLabelValues(c.Method).Observe(time.Since(begin).Seconds())
	}()
	err := next(ctx)
	m.calls.WithLabelValues(c.Method, ResultOf(err)).Inc()
	if c.Step != nil {
		op, kind, _ := strings.Cut(c.Step.Op(), " ")
		m.steps.WithLabelValues(op, kind, ResultOf(err)).Inc()
	}
	return err
}

// details returns keys and values for the log line of a call that takes long.
func details(c providers.Call) []any {
	switch {
	case c.Step != nil:
		return []any{"step", c.Change()}
	case c.Group != "":
		return []any{"targetGroup", c.Group}
	}
	return nil
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
