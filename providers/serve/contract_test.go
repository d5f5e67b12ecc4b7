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
	t.Run("in process", func(t *testing.T) {
		providertest.Test(t, func(t *testing.T) providers.Provider {
			return caller.Of(start(t, fake.Options{Capabilities: lb.ALB()}))
		}, providertest.Listening)
	})
	t.Run("over a connection", func(t *testing.T) {
		providertest.Test(t, func(t *testing.T) providers.Provider {
			server := httptest.NewServer(start(t, fake.Options{Serve: true, CheckEvery: time.Millisecond}))
			t.Cleanup(server.Close)
			return &caller.Caller{URL: server.URL, Send: server.Client().Do}
		}, providertest.Listening)
	})
}
