package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
)

// This file fails calls to a provider that does not answer at once, so that no worker of the
// operator waits for it.

const (
	mostFailures = 5                // attempts in a row, after which calls fail at once
	pause        = 10 * time.Second // after which one attempt is let through
)

// A breaker is closed while a provider answers. After some attempts in a row without an answer it
// opens: calls fail at once, and one attempt is made from time to time, until one is answered.
type breaker struct {
	circuit *gobreaker.CircuitBreaker[struct{}]

	mu    sync.Mutex
	since time.Time // of the first failure in a row, if there is a last one
	last  error     // nil after an answer
}

func newBreaker(name string) *breaker {
	return &breaker{circuit: gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name: name, Timeout: pause,
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= mostFailures },
		IsExcluded:  func(err error) bool { return errors.Is(err, context.Canceled) }, // by the operator
	})}
}

// unavailable is a status that a proxy or a server sends if it cannot reach the provider.
type unavailable int

func (u unavailable) Error() string { return fmt.Sprintf("status %d", int(u)) }

var away = []int{
	http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// do makes an attempt, unless the breaker is open.
func (b *breaker) do(attempt func() (*http.Response, error)) (*http.Response, error) {
	var response *http.Response
	_, err := b.circuit.Execute(func() (_ struct{}, err error) {
		response, err = attempt() //nolint:bodyclose // the caller reads it
		if err == nil && slices.Contains(away, response.StatusCode) {
			err = unavailable(response.StatusCode)
		}
		return struct{}{}, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return nil, finalError{b.openError()}
	}
	b.record(err)
	if _, ok := errors.AsType[unavailable](err); ok {
		return response, nil
	}
	return response, err
}

// record stores the time and the error of attempts without an answer. It ignores attempts that the
// operator cancels.
func (b *breaker) record(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		b.since = time.Now()
	}
	b.last = err
}

// openError returns the error of a call that is not sent.
func (b *breaker) openError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		return errors.New("the provider did not answer, and is called again in a moment")
	}
	return fmt.Errorf("the provider has not answered since %s, and is called again every %s: %w",
		b.since.UTC().Format(time.TimeOnly), pause, withoutURL(b.last))
}
