package cli

import (
	"cmp"
	"encoding"
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"fairlead.dev/fairlead/cli/answer"
	"fairlead.dev/fairlead/cli/comparison"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/status"
	"fairlead.dev/fairlead/cli/traffic"
	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/expect"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/page"
)

// This file writes the JSON Schemas of what commands print with -o json and -o yaml, from their
// types, and validates what commands print against them.

// schemaVersion is the version of all schemas. Keys may be added to it; one that goes, or that changes, makes another version.
const schemaVersion = "1"

// schemas are the schemas by the name of their file in docs/reference.
func schemas(strict bool) map[string]map[string]any {
	s := schemaWriter{strict}
	explanation := s.of(reflect.TypeFor[answer.Explanation]())
	all := map[string]map[string]any{
		"plan":        s.of(reflect.TypeFor[program.PlanReport]()),
		"diff":        s.of(reflect.TypeFor[comparison.Report]()),
		"verify":      s.of(reflect.TypeFor[verifyReport]()),
		"replay":      s.of(reflect.TypeFor[traffic.Report]()),
		"migrate":     s.of(reflect.TypeFor[migration]()),
		"adopt":       s.of(reflect.TypeFor[takeovers]()),
		"validate":    s.of(reflect.TypeFor[validation]()),
		"explain":     {"oneOf": []any{explanation, map[string]any{"type": "array", "items": explanation}}},
		"status":      s.of(reflect.TypeFor[status.Report]()),
		"explain-all": s.of(reflect.TypeFor[[]diag.Diagnostic]()),
		"check":       s.of(reflect.TypeFor[output.FindingsReport]()),
	}
	for name, schema := range all {
		schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		schema["$id"] = "https://fairlead.dev/schemas/" + schemaVersion + "/" + name + ".schema.json"
		schema["$comment"] = "Version " + schemaVersion + ": keys may be added. One that goes, or that changes, makes another version."
		schema["title"] = "fairlead " + strings.ReplaceAll(name, "-", " --") + ", with -o json or -o yaml"
	}
	return all
}

// A schemaWriter writes schemas. Keys may be added to what commands print, so that schemas permit
// unknown ones; strict schemas, for tests, do not.
type schemaWriter struct{ strict bool }

// of returns the schema of what encoding/json makes of a type.
func (s schemaWriter) of(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[diag.Ports]():
		return map[string]any{"type": "array", "items": map[string]any{"type": "integer"}}
	case reflect.TypeFor[routing.ServicePort]():
		return map[string]any{"type": []any{"string", "integer"}}
	case reflect.TypeFor[diag.Severity]():
		return enum(diag.Error, diag.Warning, diag.Info)
	case reflect.TypeFor[compare.Protection]():
		return enum(compare.Same, compare.Less, compare.More, compare.Unknown)
	case reflect.TypeFor[expect.Verdict]():
		return enum(expect.Holds, expect.Violated, expect.Undecided)
	case reflect.TypeFor[dialect.Outcome]():
		return enum(dialect.Same, dialect.Changed, dialect.Dropped, dialect.Refused)
	case reflect.TypeFor[check.State]():
		return enum(check.OK, check.Wrong, check.Unknown)
	case reflect.TypeFor[diag.Reason]():
		var all []diag.Reason
		for _, r := range diag.Reasons {
			all = append(all, r.Reason)
		}
		return enum(all...)
	}
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.object(t)
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	}
	return map[string]any{"type": "integer"}
}

func enum[T ~string](values ...T) map[string]any {
	var all []any
	for _, v := range values {
		all = append(all, string(v))
	}
	return map[string]any{"type": "string", "enum": all}
}

// object returns the schema of a struct, with the fields of embedded ones.
func (s schemaWriter) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []any{}
	var add func(reflect.Type)
	add = func(t reflect.Type) {
		for i := range t.NumField() {
			f := t.Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-" || !f.IsExported() && !f.Anonymous:
			case f.Anonymous && name == "":
				add(f.Type)
			default:
				name = cmp.Or(name, f.Name)
				properties[name] = s.of(f.Type)
				if options == "" {
					required = append(required, name)
				}
			}
		}
	}
	add(t)
	out := map[string]any{"type": "object", "properties": properties, "required": required}
	if s.strict {
		out["additionalProperties"] = false
	}
	return out
}

func TestSchemasReference(t *testing.T) {
	for name, schema := range schemas(false) {
		text, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		page.Check(t, "../docs/reference/"+name+".schema.json", string(text)+"\n")
	}
}

// validator returns a function that validates JSON against a schema.
func validator(t *testing.T, schema map[string]any) func(text string) error {
	t.Helper()
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) error {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			return err
		}
		return compiled.Validate(value)
	}
}

// TestOutputIsAsItsSchemaSays validates real output, and sees that the validator refuses what is not.
func TestOutputIsAsItsSchemaSays(t *testing.T) {
	broken := directory(t, map[string]string{
		"a.yaml": ingressYAML("web", "a.example.com", "/") + "---\n" + strings.Replace(annotated("fairlead.dev/scheme: public"), "name: web", "name: bad", 1),
		"b.yaml": ingressYAML("worse", "BAD_HOST", "/"), "values.yaml": "replicas: 3\n",
	})
	state := filepath.Join(t.TempDir(), "state")
	write(t, state, fairlead(t, "plan", sampleFiles, "-o", "json").out)
	_, blocks := pageOfVerify(t)
	expectations := filepath.Join(t.TempDir(), "expectations.yaml")
	write(t, expectations, blocks[0])
	logs := directory(t, map[string]string{"a.log": accessLine("http://shop.example.com:80/cart") + accessLine("http://none.example.com:80/") + "bad\n"})
	url := "http://shop.example.com/cart"
	cases := []struct {
		schema string
		args   []string
	}{
		{"plan", []string{"plan", sampleFiles, "--provider", "aws"}},
		{"plan", []string{"plan", broken}},
		{"plan", []string{"plan", broken, "--observed", state}},
		{"diff", []string{"diff", sampleFiles, broken}},
		{"verify", []string{"verify", verifyManifests, "testdata/verify/breaks/hosts-are-ours.yaml", "--expect", expectations}},
		{"replay", []string{"replay", sampleFiles, "--logs", logs, "--change", broken}},
		{"validate", []string{"validate", broken, "-k", sampleKustomization(t)}},
		{"migrate", []string{"migrate", "--from", "alb", "-f", migrateFiles, "--write", filepath.Join(t.TempDir(), "moved")}},
		{"migrate", []string{"migrate", "--from", "nginx", "-f", migratedFiles["nginx"], "--write", filepath.Join(t.TempDir(), "moved")}},
		{"explain", []string{"explain", url, "-f", sampleFiles}},
		{"explain", []string{"explain", url, "http://a.example.com/", "https://pay.example.com/", "-f", sampleFiles, "-f", broken}},
		{"explain-all", []string{"explain", "--all", "-f", broken}},
		{"status", []string{"status", "-f", sampleFiles, "-f", broken}},
		{"check", []string{"check", "--provider", "fake", "--kubeconfig", "none"}},
	}
	published, strict := schemas(false), schemas(true)
	for _, c := range cases {
		got := fairlead(t, append(c.args, "-o", "json")...)
		for why, schema := range map[string]map[string]any{"published": published[c.schema], "strict": strict[c.schema]} {
			if err := validator(t, schema)(got.out); err != nil {
				t.Errorf("%v, %s schema: %v\n%s%s", c.args, why, err, got.out, got.err)
			}
		}
		added := strings.Replace(got.out, "{", `{"added": 1,`, 1)
		if err := validator(t, published[c.schema])(added); err != nil {
			t.Errorf("%v: the published schema refuses an added key: %v", c.args, err)
		}
		if err := validator(t, strict[c.schema])(added); err == nil {
			t.Errorf("%v: the strict schema permits an unknown key", c.args)
		}
	}
}

// sampleKustomization is a kustomization that a script in the place of kubectl builds.
func sampleKustomization(t *testing.T) string {
	t.Helper()
	stands(t, "kubectl", `cat "$3"/kustomization.yaml`)
	return directory(t, map[string]string{"kustomization.yaml": ingressYAML("built", "built.example.com", "/")})
}
