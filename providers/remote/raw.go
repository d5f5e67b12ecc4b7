package remote

import (
	"net/http"
	"net/url"
	"time"
)

// This file sends requests that the operator never sends, for tests of providers.

// Raw returns the URL below which calls go, and a function that sends one request with the
// credentials. It repeats nothing and follows no redirect.
func Raw(e Endpoint) (base *url.URL, send func(*http.Request) (*http.Response, error), err error) {
	base, err = parse(e.URL)
	if err != nil {
		return nil, nil, err
	}
	base, secrets, next := e.connections(base)
	client := rawClient(e, next)
	return base, func(r *http.Request) (*http.Response, error) {
		token, err := secrets.token()
		if err != nil {
			return nil, err
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return client.Do(r)
	}, nil
}

// rawClient returns a client without any repetition.
func rawClient(e Endpoint, next http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: next, Timeout: or(e.Attempt, 15*time.Second),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
