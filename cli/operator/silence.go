package operator

import (
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// This file notices when the API server falls silent. Whoever watches it asks again without a word,
// so that an operator without a lease to lose would say nothing of it.

// A listener says that the API server does not answer, and that it does again: each once.
type listener struct {
	logger logr.Logger

	mu    sync.Mutex
	since time.Time // there was no answer; zero while there is
}

// hear listens to what passes a transport.
func (l *listener) hear(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if r.Context().Err() == nil { // else whoever asked did not wait for the answer
			l.note(err)
		}
		return response, err
	})
}

func (l *listener) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil && l.since.IsZero():
		l.since = time.Now()
		l.logger.Error(err, "the API server does not answer")
	case err == nil && !l.since.IsZero():
		l.logger.Info("the API server answers again", "after", time.Since(l.since).Round(time.Second).String())
		l.since = time.Time{}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip is http.RoundTripper's.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
