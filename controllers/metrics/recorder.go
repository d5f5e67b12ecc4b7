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
	collectors []prometheus.Collector // the counters and histograms below

	Compiles  prometheus.Histogram
	steps     *prometheus.CounterVec
	Plans     *prometheus.CounterVec
	Proofs    *prometheus.CounterVec
	Defects   *prometheus.CounterVec
	Changes   *prometheus.HistogramVec
	version   string // of Fairlead
	calls     *prometheus.CounterVec
	durations *prometheus.HistogramVec
	requests  *Requests
	reads     *Reads
	underWay  queue.Calls
	gauges    func(emit func(m Metric, value float64, labels ...string))
}

// NewRecorder returns the metrics of an operator. Each scrape calls gauges, which emits the present
// values of gauges.
func NewRecorder(
	requests *Requests, reads *Reads, version string,
	gauges func(emit func(m Metric, value float64, labels ...string)),
) *Recorder {
	r := &Recorder{requests: requests, reads: reads, version: version, gauges: gauges}
	r.collectors = append(r.collectors, requests.counter, requests.underWay, requests.limit)
	r.Compiles = prometheus.NewHistogram(histogramOpts(compileSeconds, 0.0002))
	r.collectors = append(r.collectors, r.Compiles)
	r.steps = r.counter(planSteps)
	r.Plans = r.counter(plansCount)
	r.Proofs = r.counter(proofsCount)
	r.Defects = r.counter(defectsCount)
	r.Defects.WithLabelValues(DefectUnprovenPlan) // alerts need the 0
	r.Changes = r.histogram(changeSeconds, 0.25)
	r.calls = r.counter(providerCalls)
	r.durations = r.histogram(providerSeconds, 0.002)
	return r
}

// DefectUnprovenPlan is the kind of a plan whose check fails.
const DefectUnprovenPlan = "unproven_plan"

// counter returns a counter that is collected.
func (m *Recorder) counter(of Metric) *prometheus.CounterVec {
	out := prometheus.NewCounterVec(prometheus.CounterOpts{Name: of.Name, Help: of.meaning}, of.labels)
	m.collectors = append(m.collectors, out)
	return out
}

// histogram returns a histogram that is collected. Its buckets begin with the shortest time.
func (m *Recorder) histogram(of Metric, shortest float64) *prometheus.HistogramVec {
	out := prometheus.NewHistogramVec(histogramOpts(of, shortest), of.labels)
	m.collectors = append(m.collectors, out)
	return out
}

func histogramOpts(of Metric, shortest float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: of.Name, Help: of.meaning, Buckets: prometheus.ExponentialBuckets(shortest, 2, 15),
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
	for _, c := range m.collectors {
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
