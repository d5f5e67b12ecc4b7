// Package conformance is what every Ingress controller promises, in 25 scenarios: default backends,
// host rules with TLS, path rules, classes, and all pods of a Service at work. Each is sent as real
// requests to the ports 80 and 443 of the address in the status of an Ingress, once, with nothing
// between: `fairlead run` with the fake cloud is a process of its own, on a real API server, and
// Deployments come alive in a network namespace.
package conformance

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"fairlead.dev/fairlead/test/kube"
)

// command is a variable with the path of a provider that serves in the place of the fake cloud,
// with the flags of examples/caddy.
const command = "PROVIDER_COMMAND"

func TestMain(m *testing.M) {
	o := kube.Alive
	o.Provider = os.Getenv(command)
	kube.Main(m, o)
}

// A feature is an Ingress and what it sends requests to, which some scenarios look at.
type feature struct {
	cluster   *kube.Cluster
	namespace string
	address   string
	trusted   *x509.CertPool
}

func newFeature(t *testing.T) *feature {
	t.Helper()
	t.Parallel()
	c := kube.Shared(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.OperatorLog())
		}
	})
	return &feature{cluster: c, namespace: c.Namespace(t), trusted: x509.NewCertPool()}
}

// deploy makes Services with a Pod each, all of which are ready when it returns.
func (f *feature) deploy(t *testing.T, services ...string) {
	t.Helper()
	for _, s := range services {
		f.cluster.Deploy(t, f.namespace, s, 1)
	}
	for _, s := range services {
		f.cluster.AwaitReady(t, f.namespace, s, 1)
	}
}

// expose makes the Ingress "web" and waits until it says where it is reached. From then on
// everything works: no request is sent twice.
func (f *feature) expose(t *testing.T, spec string) {
	t.Helper()
	f.cluster.CreateIngress(t, f.namespace, "web", kube.Class, spec)
	f.address = f.cluster.Address(t, f.namespace, "web")
}

// An answer is what comes back, and what the Pod says it was asked if it was one that answered.
type answer struct {
	*http.Response
	kube.Echo
}

// send asks the load balancer for a URL, over a connection of its own. A URL without a host is
// asked for by address.
func (f *feature) send(t *testing.T, method, text string) answer {
	t.Helper()
	at, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	host := at.Host
	if host == "" {
		at.Scheme, at.Host = "http", f.address
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, at.String(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	port := map[string]string{"http": "80", "https": "443"}[at.Scheme]
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: f.trusted, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(f.address, port))
		},
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s %s: %s", method, text, err)
	}
	defer response.Body.Close()
	got := answer{Response: response}
	if response.StatusCode == http.StatusOK {
		if err := json.NewDecoder(response.Body).Decode(&got.Echo); err != nil {
			t.Fatalf("%s %s: reading the answer of the Pod: %s", method, text, err)
		}
	}
	return got
}

// A scenario is one request and the Service that has to answer it. Where that is empty it is
// nobody, and the answer 404.
type scenario struct{ name, url, service string }

func (f *feature) run(t *testing.T, scenarios []scenario) {
	t.Helper()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			got, want := f.send(t, http.MethodGet, s.url), http.StatusOK
			if s.service == "" {
				want = http.StatusNotFound
			}
			if got.StatusCode != want || got.Service != s.service {
				t.Fatalf("%s is answered %d by Service %q, want %d by %q", s.url, got.StatusCode, got.Service, want, s.service)
			}
			if asked, err := url.Parse(s.url); err != nil || want == http.StatusOK && (got.Echo.Host != asked.Host || got.Path != asked.RequestURI()) {
				t.Errorf("the Pod was asked for %s%s, want %s as it was sent", got.Echo.Host, got.Path, s.url)
			}
		})
	}
}
