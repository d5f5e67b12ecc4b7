package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/fairlead/controllers/queue"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// This file holds the counters of one operator, and counts its gauges when they are scraped.

// A Recorder has the metrics of one operator.
type Recorder struct {
	Compiles  prometheus.Histogram
	steps     *prometheus.CounterVec
	Plans     *prometheus.CounterVec
	Proofs    *prometheus.CounterVec
	Changes   *prometheus.HistogramVec
	version   string // of Fairlead
	calls     *prometheus.CounterVec
	durations *prometheus.HistogramVec
	requests  *Requests
	reads     *Reads
	underWay  queue.Calls
	gauges    func(emit func(m Metric, value float64, labels ...string))
}

func NewRecorder(
	requests *Requests, reads *Reads, version string,
	gauges func(emit func(m Metric, value float64, labels ...string)),
) *Recorder {
	counter := func(m Metric) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.meaning}, m.labels)
	}
	histogram := func(m Metric, shortest float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{
			Name: m.Name, Help: m.meaning, Buckets: prometheus.ExponentialBuckets(shortest, 2, 15),
		}
	}
	return &Recorder{
		Compiles:  prometheus.NewHistogram(histogram(compileSeconds, 0.0002)),
		steps:     counter(planSteps),
		Plans:     counter(plansCount),
		Proofs:    counter(proofsCount),
		Changes:   prometheus.NewHistogramVec(histogram(changeSeconds, 0.25), changeSeconds.labels),
		calls:     counter(providerCalls),
		durations: prometheus.NewHistogramVec(histogram(providerSeconds, 0.002), providerSeconds.labels),
		requests:  requests,
		reads:     reads,
		version:   version,
		gauges:    gauges,
	}
}

// Took returns a function that records how long a change took in one of the controllers.
func (m *Recorder) Took(loop string) func(time.Duration) {
	return func(long time.Duration) { m.Changes.WithLabelValues(loop).Observe(long.Seconds()) }
}

// Describe describes the rows of the table. With Collect it makes the recorder a
// prometheus.Collector.
func (m *Recorder) Describe(to chan<- *prometheus.Desc) {
	for _, row := range table {
		to <- row.desc()
	}
}

// Collect returns the counters, and counts the gauges.
func (m *Recorder) Collect(to chan<- prometheus.Metric) {
	for _, c := range []prometheus.Collector{
		m.Compiles, m.steps, m.Plans, m.Proofs, m.Changes, m.calls, m.durations, m.requests.counter,
	} {
		c.Collect(to)
	}
	to <- prometheus.MustNewConstMetric(oldestCall.desc(), prometheus.GaugeValue,
		m.underWay.Oldest().Seconds())
	read := float64(m.reads.Total())
	to <- prometheus.MustNewConstMetric(objectsRead.desc(), prometheus.CounterValue, read)
	to <- prometheus.MustNewConstMetric(build.desc(), prometheus.GaugeValue, 1,
		cmp.Or(m.version, "unknown"))
	m.gauges(func(row Metric, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(row.desc(), prometheus.GaugeValue, value, labels...)
	})
}

// An exposition registers metrics.
type exposition struct {
	metrics *Recorder
	to      prometheus.Registerer
}

// NewExposition returns a runnable that exposes metrics while the operator runs, also without the
// lease.
func NewExposition(m *Recorder, to prometheus.Registerer) manager.Runnable {
	return exposition{m, to}
}

// Start registers the metrics until the context ends. Of two operators in one process, which only
// tests have, the first one's are registered.
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

// NeedLeaderElection tells the manager that replicas without the lease have metrics, too.
func (e exposition) NeedLeaderElection() bool { return false }
