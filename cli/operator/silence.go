package operator

import (
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// This file logs that the API server does not answer. Watches retry without a log line, and an
// operator without a lease has no lease to lose.

// A silence logs once that the API server does not answer, and once that it answers again.
type silence struct {
	logger logr.Logger

	mu    sync.Mutex
	since time.Time // when answers stopped; zero while there are answers
}

// watch wraps a transport.
func (l *silence) watch(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if r.Context().Err() == nil { // else the caller did not wait for the answer
			l.record(err)
		}
		return response, err
	})
}

// record logs a change from answers to none, and back.
func (l *silence) record(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil && l.since.IsZero():
		l.since = time.Now()
		l.logger.Error(err, "the API server does not answer")
	case err == nil && !l.since.IsZero():
		l.logger.Info("the API server answers again", "after",
			time.Since(l.since).Round(time.Second).String())
		l.since = time.Time{}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip is http.RoundTripper's.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
