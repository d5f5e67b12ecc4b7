package fake_test

import (
	"path/filepath"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/providertest"
	"fairlead.dev/fairlead/test/nightly"
)

// The contract holds whatever the cloud can say, whether or not it serves or remembers.
func TestContract(t *testing.T) {
	plain := lb.Literal()
	plain.Name, plain.Regex, plain.Rewrites, plain.NoStickyForward = "plain", false, false, true
	plain.FieldsRefused = []string{"header", "method", "query", "source"}
	unruled := plain
	unruled.HealthWithoutRule = true
	for name, options := range nightly.Cases(t, map[string]fake.Options{
		"plain":    {Capabilities: plain},
		"unruled":  {Capabilities: unruled},
		"literal":  {},
		"alb":      {Capabilities: lb.ALB()},
		"alb-glob": {Capabilities: lb.ALBGlob()},
		"serving":  {Serve: true, CheckEvery: time.Millisecond},
		"saving":   {State: "state.json"},
	}) {
		t.Run(name, func(t *testing.T) {
			providertest.Test(t, func(t *testing.T) providers.Provider {
				o := options
				if o.State != "" {
					o.State = filepath.Join(t.TempDir(), o.State)
				}
				return start(t, o)
			}, providertest.Listening)
		})
	}
}

func start(t testing.TB, o fake.Options) *fake.Cloud {
	t.Helper()
	cloud, err := fake.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	return cloud
}
