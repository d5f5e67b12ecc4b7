package remote

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
)

func TestSettingsAreCheckedAgainstTheSchemasOfTheProvider(t *testing.T) {
	told, err := compileSchemas(&v1.SettingsSchemas{
		LoadBalancer: []byte(`{"type":"object","additionalProperties":false,"properties":{"rateLimit":{"type":"integer"},"tls":{"$ref":"#/$defs/tls"}},"$defs":{"tls":{"enum":["modern","old"]}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	for settings, want := range map[string]string{
		`{"rateLimit":5}`:                "",
		`{"rateLimit":"many"}`:           "rateLimit: got string, want integer",
		`{"tls":"odd"}`:                  "tls: value must be one of",
		`{"colour":"blue"}`:              "spec.provider: additional properties 'colour' not allowed",
		`{"rateLimit":1e400,"tls":null}`: "tls: ",
	} {
		if got := told.refuse(lb.Questions{Settings: settings})[settings]; (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: told %q, want %q", settings, got, want)
		}
	}
	if got := told.refuse(lb.Questions{GroupSettings: []string{`{"a":1}`}})[`{"a":1}`]; !strings.Contains(got, "no settings of its own for Backends") {
		t.Errorf("settings without a schema: told %q", got)
	}
	if got := told.refuse(lb.Questions{}); got != nil {
		t.Errorf("no settings: told %v", got)
	}
}

// TestASchemaThatCostsTooMuchIsRefused has schemas that would be computed on for ever, and one that
// is read from elsewhere.
func TestASchemaThatCostsTooMuchIsRefused(t *testing.T) {
	var doubling strings.Builder
	doubling.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
	for i := range 60 {
		fmt.Fprintf(&doubling, `"a%d":{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	doubling.WriteString(`"a60":false}}`)
	for want, schema := range map[string]string{
		"more than 10000 parts":    doubling.String(),
		"refers to itself":         `{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"a":{"$ref":"#/$defs/a"}}}}}`,
		"within a schema only":     `{"$ref":"https://example.com/schema.json"}`,
		"$dynamicRef":              `{"$dynamicRef":"#a"}`,
		"more than 262144 bytes":   `{"description":"` + strings.Repeat("x", 300_000) + `"}`,
		"reading settingsSchemas.": `{"type":"colour"}`,
	} {
		began := time.Now()
		_, err := compileSchemas(&v1.SettingsSchemas{LoadBalancer: []byte(schema)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("told %v, want %q", err, want)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s took %s", want, took)
		}
	}
}
