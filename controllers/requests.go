package controllers

import "github.com/prometheus/client_golang/prometheus"

// This file counts what providers ask of the API behind them, which grants an account only so much.

// Requests are counted by whoever makes them, and shown among the operator's metrics.
type Requests struct{ counter *prometheus.CounterVec }

// NewRequests counts from zero.
func NewRequests() *Requests {
	return &Requests{prometheus.NewCounterVec(prometheus.CounterOpts{Name: cloudRequests.name, Help: cloudRequests.meaning}, cloudRequests.labels)}
}

// Count counts one request. Its result is ok, or the API's name of an error, of which there are few.
func (r *Requests) Count(service, operation, result string) {
	r.counter.WithLabelValues(service, operation, result).Inc()
}
