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
	"strings"
	"time"

	"github.com/go-logr/logr"
)

// This file connects to a provider: its URL, its credentials and its connections.

// An Endpoint describes the connection to a provider.
type Endpoint struct {
	// Name is the name of the provider in the operator's settings.
	Name string
	// URL is https://host:port/path, http://host:port/path on this machine, or unix:///path of a
	// socket.
	URL string
	// Credentials is a directory with any of token, ca.crt, tls.crt and tls.key, like a mounted
	// Secret; "" for none. The files are read again when they change.
	Credentials string
	// Attempt is the timeout of an attempt that only reads, and Call the timeout of all attempts of a
	// call, and of an attempt that changes something; 0: 15 s and a minute.
	Attempt, Call time.Duration
	// OnRequest is called for each attempt; it may be nil.
	OnRequest func(service, operation, result string)
	// OnInFlight is called when the number of calls under way changes, or its limit; it may be nil.
	// Calls are "reads" or "changes".
	OnInFlight func(service, calls string, underWay, limit int)
	Log        logr.Logger
	// LeastWait and MostWait bound the time between attempts; 0: half a second and ten seconds.
	LeastWait, MostWait time.Duration
}

func or(d, usual time.Duration) time.Duration {
	if d <= 0 {
		return usual
	}
	return d
}

// socketHost stands for a unix socket in URLs.
const socketHost = "provider.sock"

// CheckURL returns an error for a URL that cannot be one of a provider.
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
		return nil, errors.New("its URL cannot have a user, a query or a fragment; a token comes " +
			"from a file")
	case u.Scheme == "unix" && u.Host == "" && filepath.IsAbs(u.Path):
		return u, nil
	case u.Scheme == "https" && u.Host != "":
		return u, nil
	case u.Scheme == "http" && isLoopback(u.Hostname()):
		return u, nil
	case u.Scheme == "http":
		return nil, fmt.Errorf("%s is not on this machine: what is sent there has private keys in it, "+
			"so that it has to be https", u.Host)
	}
	return nil, fmt.Errorf("%q is no URL of a provider: https://host:port, http://127.0.0.1:port or "+
		"unix:///path", clip(text, 200))
}

func isLoopback(host string) bool {
	address, _ := netip.ParseAddr(host)
	return host == "localhost" || address.IsLoopback()
}

// connections returns the URL for calls, the credentials and the transport.
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
		MaxIdleConns: mostConnections, MaxIdleConnsPerHost: mostConnections,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// mostConnections is the number of idle connections that are kept.
const mostConnections = 100

// credentials reads its files for each use. They are small, and a rotation needs no notice.
type credentials struct{ directory string }

// file returns the contents of a file, or nothing if it is missing.
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

// token returns the bearer token; "" for none.
func (c credentials) token() (string, error) {
	text, err := c.file("token")
	return strings.TrimSpace(string(text)), err
}

// tls returns the configuration of connections: the CA of the provider, and a client certificate.
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
	if len(certificate) == 0 {
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
