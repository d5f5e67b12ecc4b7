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

// newHTTPClient returns the client that all calls go through, and their URL.
func newHTTPClient(e Endpoint, base *url.URL, b *breaker) (*url.URL, *retryablehttp.Client) {
	base, secrets, next := e.connections(base)
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{
		Timeout:       e.Attempt, // with the reading of the answer
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &attempts{endpoint: e, breaker: b, secrets: secrets, next: next},
	}
	c.Logger = retryLogger{e.Log.WithValues("provider", e.Name)}
	c.RetryWaitMin, c.RetryWaitMax, c.RetryMax = e.LeastWait, e.MostWait, 6
	c.CheckRetry = func(ctx context.Context, response *http.Response, err error) (bool, error) {
		if f, ok := errors.AsType[finalError](err); ok {
			return false, f.error
		}
		return retryablehttp.ErrorPropagatedRetryPolicy(ctx, response, err)
	}
	c.Backoff = func(least, most time.Duration, attempt int, response *http.Response) time.Duration {
		return min(retryablehttp.DefaultBackoff(least, most, attempt, response), most)
	}
	c.ErrorHandler = retryablehttp.PassthroughErrorHandler
	return base, c
}

// attempts makes the attempts of calls.
type attempts struct {
	endpoint Endpoint
	breaker  *breaker
	secrets  credentials
	next     http.RoundTripper
}

// RoundTrip is for http.RoundTripper.
func (a *attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	c := callOf(r.Context())
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
	r.Header.Set(v1.HeaderTimeout, strconv.FormatInt(a.endpoint.Attempt.Milliseconds(), 10))
	response, err := a.breaker.do(func() (*http.Response, error) { return a.next.RoundTrip(r) })
	if told := a.endpoint.OnRequest; told != nil {
		told(a.endpoint.Name, c.operation, resultOf(response, err))
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
