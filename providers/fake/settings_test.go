package fake_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/fake"
)

// TestADeepReadHasTheSettings reads those that were made, changed, and read from the files by
// another process. A read that is not deep has none.
func TestADeepReadHasTheSettings(t *testing.T) {
	c := lb.Literal()
	c.GroupAttributes = map[string]lb.Attribute{"setting": {Text: true}}
	options := fake.Options{State: filepath.Join(t.TempDir(), "state.json"), Capabilities: c}
	cloud := start(t, options)
	for _, value := range []string{"first", "second"} {
		want := settingsOf(t, value)
		program(t, cloud, want)
		if value == "second" {
			cloud.Close()
			cloud = start(t, options)
		}
		deep, err := cloud.Observe(t.Context(), shop, true)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plan.SettingsOfWanted(want), plan.SettingsOfRead(deep), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-wanted +read):\n%s", value, diff)
		}
		shallow, err := cloud.Observe(t.Context(), shop, false)
		if err != nil || shallow.Read != nil {
			t.Errorf("%s: %+v is read, %v", value, shallow.Read, err)
		}
	}
}

// settingsOf returns a load balancer with a setting of each kind.
func settingsOf(t *testing.T, value string) lb.LoadBalancer {
	some := map[string]string{"setting": value}
	web := group("web", backend(t, "web"))
	web.Health, web.Attributes, web.Tags = routing.HealthCheck{Path: "/" + value}, some, some
	web.Digest = lb.DigestOf(lb.GroupSettings{HealthCheck: web.Health, Attributes: some, Tags: some})
	secure := https443([]lb.CertificateID{"sha256:0001"}, rule("shop.example.com -", forward("web")))
	secure.Settings = lb.ListenerSettings{TLSPolicy: value, Attributes: some, Tags: some}
	secure.Digest = lb.DigestOf(secure.Settings)
	want := loadBalancer(shop, []lb.TargetGroup{web}, secure)
	want.Settings = routing.Settings{Scheme: "internal", Subnets: []string{value}, Attributes: some, Tags: some}
	want.Digest = lb.DigestOf(want.Settings)
	certificate := imported(t, "sha256:0001", "shop.example.com")
	certificate.Tags = some
	certificate.Digest = lb.CertificateSettings{Tags: some}.Digest()
	want.Certificates = []lb.Certificate{certificate}
	return want
}
