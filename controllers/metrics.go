package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"fairlead.dev/fairlead/controllers/queue"
	"github.com/prometheus/client_golang/prometheus"
)

// This file is what Prometheus scrapes: counters that grow as things happen, and gauges that are counted when they are scraped.

// metrics are those of one operator.
type metrics struct {
	compiles  prometheus.Histogram
	steps     *prometheus.CounterVec
	plans     *prometheus.CounterVec
	changes   *prometheus.HistogramVec
	version   string // of Fairlead
	calls     *prometheus.CounterVec
	durations *prometheus.HistogramVec
	requests  *Requests
	underWay  queue.Calls
	gauges    func(emit func(m metric, value float64, labels ...string))
}

func newMetrics(requests *Requests, version string, gauges func(emit func(m metric, value float64, labels ...string))) *metrics {
	counter := func(m metric) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.name, Help: m.meaning}, m.labels)
	}
	histogram := func(m metric, shortest float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: m.name, Help: m.meaning, Buckets: prometheus.ExponentialBuckets(shortest, 2, 15)}
	}
	return &metrics{
		compiles:  prometheus.NewHistogram(histogram(compileSeconds, 0.0002)),
		steps:     counter(planSteps),
		plans:     counter(plansCount),
		changes:   prometheus.NewHistogramVec(histogram(changeSeconds, 0.25), changeSeconds.labels),
		calls:     counter(providerCalls),
		durations: prometheus.NewHistogramVec(histogram(providerSeconds, 0.002), providerSeconds.labels),
		requests:  requests,
		version:   version,
		gauges:    gauges,
	}
}

// took returns what is told how long a change took in one of the loops.
func (m *metrics) took(loop string) func(time.Duration) {
	return func(long time.Duration) { m.changes.WithLabelValues(loop).Observe(long.Seconds()) }
}

// Describe and Collect make metrics a prometheus.Collector.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	for _, row := range table {
		to <- row.desc()
	}
}

// Collect counts the gauges.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range []prometheus.Collector{m.compiles, m.steps, m.plans, m.changes, m.calls, m.durations, m.requests.counter} {
		c.Collect(to)
	}
	to <- prometheus.MustNewConstMetric(oldestCall.desc(), prometheus.GaugeValue, m.underWay.Oldest().Seconds())
	to <- prometheus.MustNewConstMetric(build.desc(), prometheus.GaugeValue, 1, cmp.Or(m.version, "unknown"))
	m.gauges(func(row metric, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(row.desc(), prometheus.GaugeValue, value, labels...)
	})
}

// An exposition has metrics scraped for as long as the operator runs, as the leader or not.
type exposition struct {
	metrics *metrics
	to      prometheus.Registerer
}

// newExposition makes one.
func newExposition(m *metrics, to prometheus.Registerer) exposition { return exposition{m, to} }

// Start registers the metrics until the context ends. Of two operators in one process, as tests
// have them, only the first one's are seen.
func (e exposition) Start(ctx context.Context) error {
	err := e.to.Register(e.metrics)
	if taken := (prometheus.AlreadyRegisteredError{}); errors.As(err, &taken) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	<-ctx.Done()
	e.to.Unregister(e.metrics)
	return nil
}

// NeedLeaderElection is for the manager.
func (e exposition) NeedLeaderElection() bool { return false }
