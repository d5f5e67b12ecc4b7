package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
)

// This file keeps calls from being sent to a provider that does not answer, so that none of the
// operator's workers waits for it.

const (
	mostFailures = 5                // attempts in a row, after which calls fail at once
	pause        = 10 * time.Second // after which one attempt is let through
)

// A breaker is closed as long as a provider answers. After some attempts in a row without an answer
// it opens: calls fail at once, until an attempt that is let through now and then is answered.
type breaker struct {
	circuit *gobreaker.CircuitBreaker[struct{}]

	mu    sync.Mutex
	since time.Time // of the first failure in a row
	last  error
}

func newBreaker(name string) *breaker {
	return &breaker{circuit: gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name: name, Timeout: pause,
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= mostFailures },
		IsExcluded:  func(err error) bool { return errors.Is(err, context.Canceled) }, // by the operator
	})}
}

// errAway is an answer that a proxy or a server gives for a provider that is not there.
var errAway = errors.New("status 502, 503 or 504")

// do makes an attempt, unless the provider does not answer.
func (b *breaker) do(attempt func() (*http.Response, error)) (*http.Response, error) {
	var response *http.Response
	_, err := b.circuit.Execute(func() (_ struct{}, err error) {
		response, err = attempt() //nolint:bodyclose // the caller reads it
		if err == nil && (response.StatusCode == http.StatusBadGateway || response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusGatewayTimeout) {
			err = errAway
		}
		return struct{}{}, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return nil, final{b.open()}
	}
	b.note(err)
	if errors.Is(err, errAway) {
		return response, nil
	}
	return response, err
}

// note remembers since when there is no answer, and why.
func (b *breaker) note(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil:
		b.since, b.last = time.Time{}, nil
	case errors.Is(err, context.Canceled):
	case b.last == nil:
		b.since, b.last = time.Now(), err
	default:
		b.last = err
	}
}

// open is the error of a call that is not sent.
func (b *breaker) open() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		return errors.New("the provider did not answer, and is about to be asked again")
	}
	return fmt.Errorf("the provider does not answer since %s, and is asked again every %s: %w", b.since.UTC().Format(time.TimeOnly), pause, plainly(b.last))
}
