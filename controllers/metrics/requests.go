package metrics

import "github.com/prometheus/client_golang/prometheus"

// This file counts the requests of providers to the APIs of clouds, and has how many are under way.

// Requests counts the requests of a provider. It is scraped with the operator's metrics.
type Requests struct {
	counter         *prometheus.CounterVec
	underWay, limit *prometheus.GaugeVec
}

// NewRequests makes a counter.
func NewRequests() *Requests {
	gauge := func(of Metric) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: of.Name, Help: of.meaning}, of.labels)
	}
	return &Requests{
		counter: prometheus.NewCounterVec(prometheus.CounterOpts{Name: cloudRequests.Name,
			Help: cloudRequests.meaning}, cloudRequests.labels),
		underWay: gauge(cloudUnderWay), limit: gauge(cloudLimit),
	}
}

// Count counts one request. Its result is ok, or the API's name of an error, of which there are
// few.
func (r *Requests) Count(service, operation, result string) {
	r.counter.WithLabelValues(service, operation, result).Inc()
}

// SetInFlight sets how many requests are under way at an API, and how many may be. Calls are reads
// or changes.
func (r *Requests) SetInFlight(service, calls string, underWay, limit int) {
	r.underWay.WithLabelValues(service, calls).Set(float64(underWay))
	r.limit.WithLabelValues(service, calls).Set(float64(limit))
}
