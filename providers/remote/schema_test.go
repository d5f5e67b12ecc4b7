package remote

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// TestTheBoundsOfSchemas has schemas that are just within the limits, or just beyond.
func TestTheBoundsOfSchemas(t *testing.T) {
	parts := func(n int) string { return `{"examples":[0` + strings.Repeat(",0", n-3) + `]}` }
	length := func(n int) string { return `{"description":"` + strings.Repeat("x", n-18) + `"}` }
	for name, c := range map[string]struct{ schema, want string }{
		"10,000 parts": {parts(10_000), ""},
		"10,001 parts": {parts(10_001), "settingsSchemas.loadBalancer: it has more than 10000 parts " +
			"with its references written out"},
		"262,144 bytes": {length(262_144), ""},
		"262,145 bytes": {length(262_145), "settingsSchemas.loadBalancer has more than 262144 bytes"},
	} {
		told := ""
		if _, err := compileSchemas(&v1.SettingsSchemas{LoadBalancer: []byte(c.schema)}); err != nil {
			told = err.Error()
		}
		if told != c.want {
			t.Errorf("%s: told %q, want %q", name, told, c.want)
		}
	}
}

// TestReferencesOfSchemas has each form of a reference. What is counted has to be what it leads to:
// all forms lead to "a", which refers to itself in the same form.
func TestReferencesOfSchemas(t *testing.T) {
	const head = "settingsSchemas.loadBalancer: "
	missing := func(to string) string {
		return head + "it refers to " + to + ", which it does not have"
	}
	itself := func(to string) string { return head + to + " refers to itself" }
	for reference, want := range map[string]string{
		`"#"`:                     itself("#"),
		`"#/$defs/a"`:             itself("#/$defs/a"),
		`"#/%24defs/a"`:           itself("#/%24defs/a"),
		`"#/$defs/b~1~0"`:         itself("#/$defs/b~1~0"),
		`"#/anyOf/0"`:             itself("#/anyOf/0"),
		`"#/anyOf/1"`:             missing("#/anyOf/1"),
		`"#/anyOf/-1"`:            missing("#/anyOf/-1"),
		`"#/anyOf/x"`:             missing("#/anyOf/x"),
		`"#/"`:                    missing("#/"),
		`"#a"`:                    missing("#a"),
		`"#%zz"`:                  missing("#%zz"),
		`"#/$defs/c"`:             missing("#/$defs/c"),
		`"#/title/c"`:             missing("#/title/c"),
		`"schema.json"`:           head + "references lead within a schema only",
		`"https://example.com/a"`: head + "references lead within a schema only",
		`5`:                       head + "references lead within a schema only",
		`"#/$defs/d"`:             "",
		`"#/$defs/d","$schema":"http://json-schema.org/draft-04/schema#"`: head +
			"it is of draft 4, which is not read",
		`"#/$defs/d","$schema":"http://json-schema.org/draft-07/schema#"`: "",
	} {
		inner := `{"properties":{"a":{"$ref":` + reference + `}}}`
		schema := `{"title":"t","anyOf":[` + inner + `],"$defs":{"a":` + inner +
			`,"b/~":` + inner + `,"d":true},"$ref":` + reference + `}`
		if strings.Contains(reference, "$schema") {
			schema = `{"$defs":{"d":true},"$ref":` + reference + `}`
		}
		told := ""
		if _, err := compileSchemas(&v1.SettingsSchemas{LoadBalancer: []byte(schema)}); err != nil {
			told = err.Error()
		}
		if told != want {
			t.Errorf("%s: told %q, want %q", reference, told, want)
		}
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
