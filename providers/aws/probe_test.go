package aws_test

import (
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/probe"
	"fairlead.dev/fairlead/providers/serve"
	"fairlead.dev/fairlead/test/albsim"
)

// TestProbe tries the provider where it is served to another process. It has sign-in, so that it is
// sent a client secret.
func TestProbe(t *testing.T) {
	cloud := aws.New(aws.Options{Config: albsim.New(albsim.Options{}).Config(), Installation: "test", VPC: albsim.VPC, Settle: time.Nanosecond})
	server := httptest.NewServer(serve.New(cloud, serve.Options{}))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range probe.Run(t.Context(), probe.Provider{Base: base, Send: server.Client().Do, Pause: time.Millisecond}) {
		if f.State == check.Wrong || f.ID == "provider/client-secret" && f.Detail != "" {
			t.Errorf("%s: %s: %s", f.ID, f.State, f.Detail)
		}
	}
	if keys, err := cloud.List(t.Context()); err != nil || len(keys) > 0 {
		t.Errorf("left: %v, %v", keys, err)
	}
}
