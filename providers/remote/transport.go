package remote

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"github.com/hashicorp/go-retryablehttp"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers"
)

// This file makes one attempt of a call: with credentials, a deadline and the circuit breaker.
// go-retryablehttp repeats attempts.

// newAttempts returns what makes the attempts of all calls, and their URL.
func newAttempts(e Endpoint, base *url.URL, b *breaker) (*url.URL, *attempts) {
	base, secrets, next := e.connections(base)
	return base, &attempts{endpoint: e, breaker: b, secrets: secrets, next: next}
}

// newHTTPClient returns a client whose attempts are answered within a time.
func newHTTPClient(e Endpoint, within time.Duration, a *attempts) *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{
		Timeout:       within, // with the reading of the answer
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     a,
	}
	c.Logger = retryLogger{e.Log.WithValues("provider", e.Name)}
	c.RetryWaitMin, c.RetryWaitMax, c.RetryMax = e.LeastWait, e.MostWait, 6
	c.CheckRetry = func(ctx context.Context, response *http.Response, err error) (bool, error) {
		if f, ok := errors.AsType[finalError](err); ok {
			return false, f.error
		}
		again, err := retryablehttp.ErrorPropagatedRetryPolicy(ctx, response, err)
		callOf(ctx).load.setRests(again)
		if again && providers.PlanOf(ctx).Err() != nil {
			return false, nil //nolint:nilerr // the last answer is that of the call
		}
		return again, err
	}
	c.Backoff = func(least, most time.Duration, attempt int, response *http.Response) time.Duration {
		return min(retryablehttp.DefaultBackoff(least, most, attempt, response), most)
	}
	c.ErrorHandler = retryablehttp.PassthroughErrorHandler
	return c
}

// attempts makes the attempts of calls.
type attempts struct {
	endpoint Endpoint
	breaker  *breaker
	secrets  credentials
	next     http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (a *attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	c := callOf(r.Context())
	c.load.setRests(false)
	if c.changes {
		if err := providers.MayWrite(r.Context()); err != nil {
			return nil, finalError{err}
		}
	}
	token, err := a.secrets.token()
	if err != nil {
		return nil, finalError{err}
	}
	r = r.Clone(r.Context())
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if c.changes && providers.AskerOf(r.Context()).Urgent {
		r.Header.Set("Priority", v1.PriorityUrgent)
	}
	within := a.endpoint.Attempt
	if c.changes {
		within = a.endpoint.Call
	}
	if until, ok := r.Context().Deadline(); ok {
		within = min(within, time.Until(until).Round(time.Second/10))
	}
	within = max(within, time.Millisecond)
	r.Header.Set(v1.HeaderTimeout, strconv.FormatInt(within.Milliseconds(), 10))
	sent := false
	response, err := a.breaker.do(func() (*http.Response, error) {
		sent = true
		return a.next.RoundTrip(r)
	})
	c.load.add(sent, response, err)
	if report := a.endpoint.OnRequest; report != nil {
		report(a.endpoint.Name, c.operation, resultOf(response, err))
	}
	return response, err
}

// CloseIdleConnections is for http.Client, which asks its transport to.
func (a *attempts) CloseIdleConnections() {
	if idle, ok := a.next.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
}

// resultOf returns the result of an attempt as a label of metrics.
func resultOf(r *http.Response, err error) string {
	switch {
	case err != nil:
		return "unanswered"
	case r.StatusCode < 400:
		return "ok"
	default:
		return strconv.Itoa(r.StatusCode)
	}
}

// retryLogger is the logger of go-retryablehttp. It logs methods, URLs and errors, and no headers
// or bodies.
type retryLogger struct{ log logr.Logger }

// Error logs as the others do: the caller returns the error of the call.
func (l retryLogger) Error(message string, about ...any) { l.log.V(1).Info(message, about...) }
func (l retryLogger) Warn(message string, about ...any)  { l.log.V(1).Info(message, about...) }
func (l retryLogger) Info(message string, about ...any)  { l.log.V(1).Info(message, about...) }
func (l retryLogger) Debug(message string, about ...any) { l.log.V(2).Info(message, about...) }
