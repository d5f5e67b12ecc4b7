package remote

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"fairlead.dev/fairlead/api/provider/kit"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/providertest"
	"fairlead.dev/fairlead/providers/serve"
	"fairlead.dev/fairlead/test/nightly"
)

// This file holds a provider that is another process to the contract, and puts faults between the
// two.

// TestContract runs the contract over a connection.
func TestContract(t *testing.T) {
	for name, o := range nightly.Cases(t, map[string]fake.Options{
		"without a data plane": {Capabilities: lb.ALB()},
		"with a data plane":    {Serve: true, CheckEvery: time.Millisecond},
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			providertest.Test(t, func(t *testing.T) providers.Provider { return open(t, served(t, serving(t, o))) }, providertest.Listening)
		})
	}
}

// TestContractOverASocket runs the contract over a unix socket.
func TestContractOverASocket(t *testing.T) {
	t.Parallel()
	providertest.Test(t, func(t *testing.T) providers.Provider {
		at := filepath.Join(t.TempDir(), "p.sock")
		socket, err := net.Listen("unix", at)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: serving(t, fake.Options{Capabilities: lb.ALB()}), ReadHeaderTimeout: time.Second}
		go func() { _ = server.Serve(socket) }()
		t.Cleanup(func() { _ = server.Close() })
		return open(t, "unix://"+at)
	}, providertest.Listening)
}

// serving is a fake cloud behind the protocol.
func serving(t testing.TB, o fake.Options) *kit.Server {
	t.Helper()
	cloud, err := fake.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	return serve.New(cloud, serve.Options{})
}

// served is where a handler is reached.
func served(t testing.TB, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// open opens the provider at a URL.
func open(t testing.TB, url string) *Provider {
	t.Helper()
	return opened(t, Endpoint{URL: url})
}

func opened(t testing.TB, e Endpoint) *Provider {
	t.Helper()
	e.Name = "edge"
	e.LeastWait, e.MostWait = time.Millisecond, 20*time.Millisecond
	p, err := Open(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}
