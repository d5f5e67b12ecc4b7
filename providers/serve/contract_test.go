package serve_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"fairlead.dev/fairlead/api/provider/kit"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/providertest"
	"fairlead.dev/fairlead/providers/serve"
	"fairlead.dev/fairlead/test/caller"
	"fairlead.dev/fairlead/test/nightly"
)

// TestContract holds a provider that is served to the contract: in this process, and over a
// connection.
func TestContract(t *testing.T) {
	start := func(t *testing.T, o fake.Options) *kit.Server {
		cloud, err := fake.New(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cloud.Close)
		return serve.New(cloud, serve.Options{})
	}
	for how, reached := range nightly.Cases(t, map[string]func(t *testing.T) providers.Provider{
		"in process": func(t *testing.T) providers.Provider {
			return caller.Of(start(t, fake.Options{Capabilities: lb.ALB()}))
		},
		"over a connection": func(t *testing.T) providers.Provider {
			server := httptest.NewServer(start(t, fake.Options{Serve: true, CheckEvery: time.Millisecond}))
			t.Cleanup(server.Close)
			return &caller.Caller{URL: server.URL, Send: server.Client().Do}
		},
	}) {
		t.Run(how, func(t *testing.T) { providertest.Test(t, reached, providertest.Listening) })
	}
}
