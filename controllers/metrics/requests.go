package metrics

import "github.com/prometheus/client_golang/prometheus"

// This file counts the requests of providers to the APIs of clouds, which limit their rate.

// Requests counts the requests of a provider. It is scraped with the operator's metrics.
type Requests struct{ counter *prometheus.CounterVec }

// NewRequests makes a counter.
func NewRequests() *Requests {
	return &Requests{prometheus.NewCounterVec(prometheus.CounterOpts{Name: cloudRequests.Name,
		Help: cloudRequests.meaning}, cloudRequests.labels)}
}

// Count counts one request. Its result is ok, or the API's name of an error, of which there are
// few.
func (r *Requests) Count(service, operation, result string) {
	r.counter.WithLabelValues(service, operation, result).Inc()
}
