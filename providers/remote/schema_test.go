package remote

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
)

func TestSettingsAreCheckedAgainstTheSchemasOfTheProvider(t *testing.T) {
	told, err := compileSchemas(&v1.SettingsSchemas{
		LoadBalancer: []byte(`{"type":"object","additionalProperties":false,"properties":{"rateLimit":{"type":"integer"},"tls":{"$ref":"#/$defs/tls"}},"$defs":{"tls":{"enum":["modern","old"]}}}`),
		TargetGroup:  []byte("null"),
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

// TestASchemaThatCannotBeRead has one that is wrong, and one that is read from elsewhere.
func TestASchemaThatCannotBeRead(t *testing.T) {
	for want, schema := range map[string]string{
		"within a schema only":     `{"$ref":"https://example.com/schema.json"}`,
		"reading settingsSchemas.": `{"type":"colour"}`,
	} {
		_, err := compileSchemas(&v1.SettingsSchemas{LoadBalancer: []byte(schema)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("told %v, want %q", err, want)
		}
	}
}

// TestSettingsOfBackends has a schema of the draft 2020-12: earlier ones have no prefixItems.
func TestSettingsOfBackends(t *testing.T) {
	schema := `{"properties":{"pair":{"prefixItems":[true,{"type":"integer"}]}}}`
	told, err := compileSchemas(&v1.SettingsSchemas{TargetGroup: []byte(schema)})
	if err != nil {
		t.Fatal(err)
	}
	odd := `{"pair":[1,"b"]}`
	got := told.refuse(lb.Questions{GroupSettings: []string{`{"pair":["a",2]}`, odd}})
	if want := map[string]string{odd: "pair.1: got string, want integer"}; !maps.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

// TestNoSchemaIsRead names a schema of schemas that is a file of this machine.
func TestNoSchemaIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "meta.json")
	meta := `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`
	if err := os.WriteFile(file, []byte(meta), 0o600); err != nil {
		t.Fatal(err)
	}
	schema := `{"$schema":"file://` + file + `"}`
	_, err := compileSchemas(&v1.SettingsSchemas{LoadBalancer: []byte(schema)})
	if err == nil || !strings.Contains(err.Error(), file+" is not read") {
		t.Errorf("told %v", err)
	}
}
