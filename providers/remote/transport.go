package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/hashicorp/go-retryablehttp"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers"
)

// This file is an attempt of a call: where it goes, with which credentials, and how long it may
// take.

// socketHost stands for a unix socket in URLs.
const socketHost = "provider.sock"

// CheckURL returns an error for a URL that no provider can have.
func CheckURL(text string) error {
	_, err := parse(text)
	return err
}

// parse reads the URL of a provider.
func parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading its URL: %w", err)
	}
	switch {
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("its URL cannot have a user, a query or a fragment; a token comes from a file")
	case u.Scheme == "unix" && u.Host == "" && filepath.IsAbs(u.Path):
		return u, nil
	case u.Scheme == "https" && u.Host != "":
		return u, nil
	case u.Scheme == "http" && isLoopback(u.Hostname()):
		return u, nil
	case u.Scheme == "http":
		return nil, fmt.Errorf("%s is not on this machine: what is sent there has private keys in it, so that it has to be https", u.Host)
	}
	return nil, fmt.Errorf("%q is no URL of a provider: https://host:port, http://127.0.0.1:port or unix:///path", clip(text, 200))
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// newClient makes the client that all calls go through.
func (p *Provider) newClient() *retryablehttp.Client {
	base, secrets, next := p.endpoint.connections(p.base)
	p.base = base
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{
		Timeout:       p.endpoint.Attempt, // with the reading of the answer
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &attempts{
			provider: p, secrets: secrets,
			next: next,
		},
	}
	c.Logger = levelled{p.endpoint.Log.WithValues("provider", p.endpoint.Name)}
	c.RetryWaitMin, c.RetryWaitMax, c.RetryMax = p.endpoint.LeastWait, p.endpoint.MostWait, 6
	c.CheckRetry = func(ctx context.Context, response *http.Response, err error) (bool, error) {
		if f, ok := errors.AsType[final](err); ok {
			return false, f.error
		}
		again, why := retryablehttp.ErrorPropagatedRetryPolicy(ctx, response, err)
		if again && err != nil {
			why = err
		}
		return again, why
	}
	c.Backoff = func(least, most time.Duration, attempt int, response *http.Response) time.Duration {
		return min(retryablehttp.DefaultBackoff(least, most, attempt, response), most)
	}
	c.ErrorHandler = retryablehttp.PassthroughErrorHandler
	return c
}

// connections are how an endpoint is connected to: the URL that calls go to, and what makes
// connections to it.
func (e Endpoint) connections(base *url.URL) (*url.URL, credentials, *http.Transport) {
	socket := ""
	if base.Scheme == "unix" {
		socket, base = base.Path, &url.URL{Scheme: "http", Host: socketHost}
	}
	dialer := &net.Dialer{Timeout: e.Attempt}
	secrets := credentials{directory: e.Credentials}
	return base, secrets, &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if socket != "" {
				network, address = "unix", socket
			}
			return dialer.DialContext(ctx, network, address)
		},
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			config, err := secrets.tls()
			if err != nil {
				return nil, err
			}
			return (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, network, address)
		},
		MaxIdleConns: mostConnections, MaxIdleConnsPerHost: mostConnections, IdleConnTimeout: 90 * time.Second,
		ResponseHeaderTimeout: e.Attempt, MaxResponseHeaderBytes: 64 << 10,
	}
}

// mostConnections are kept for calls that are made at once.
const mostConnections = 100

// attempts makes each attempt of a call.
type attempts struct {
	provider *Provider
	secrets  credentials
	next     http.RoundTripper
}

// RoundTrip is for http.RoundTripper.
func (a *attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	c := callOf(r.Context())
	if c.changes {
		if err := providers.MayWrite(r.Context()); err != nil {
			return nil, final{err}
		}
	}
	token, err := a.secrets.token()
	if err != nil {
		return nil, final{err}
	}
	r = r.Clone(r.Context())
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if c.changes && providers.AskerOf(r.Context()).Urgent {
		r.Header.Set("Priority", v1.PriorityUrgent)
	}
	r.Header.Set(v1.HeaderTimeout, strconv.FormatInt(a.provider.endpoint.Attempt.Milliseconds(), 10))
	response, err := a.provider.breaker.do(func() (*http.Response, error) { return a.next.RoundTrip(r) })
	if told := a.provider.endpoint.Requested; told != nil {
		told(a.provider.endpoint.Name, c.operation, resultOf(response, err))
	}
	return response, err
}

// resultOf is how an attempt ended, in a word for metrics.
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

// credentials are files that are read for each use: they are small, and a rotation needs no notice.
type credentials struct{ directory string }

// file is what a file has; "" where it is missing.
func (c credentials) file(name string) ([]byte, error) {
	if c.directory == "" {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(c.directory, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the credentials: %w", err)
	}
	return text, nil
}

// token is the bearer token; "" for none.
func (c credentials) token() (string, error) {
	text, err := c.file("token")
	return strings.TrimSpace(string(text)), err
}

// tls is how a connection is made: with the CA that signs the provider's certificate, and with a
// certificate of one's own.
func (c credentials) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	ca, err := c.file("ca.crt")
	if err != nil {
		return nil, err
	}
	if len(ca) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("reading the credentials: ca.crt has no certificate in PEM")
		}
	}
	certificate, err := c.file("tls.crt")
	if err != nil || len(certificate) == 0 {
		return config, err
	}
	key, err := c.file("tls.key")
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("reading the credentials: tls.crt and tls.key: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// levelled lets go-retryablehttp log. It logs methods, URLs and errors: no header and no body.
type levelled struct{ log logr.Logger }

func (l levelled) Error(message string, about ...any) { l.log.V(1).Info(message, about...) } // the call's error is told by the caller
func (l levelled) Warn(message string, about ...any)  { l.log.V(1).Info(message, about...) }
func (l levelled) Info(message string, about ...any)  { l.log.V(1).Info(message, about...) }
func (l levelled) Debug(message string, about ...any) { l.log.V(2).Info(message, about...) }
