package v1alpha1

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/test/page"
)

// This file writes the reference page of our kinds from their generated definitions, and checks
// that the committed page is the same.

//go:generate go test . -run ^TestReference$ -update

func TestReference(t *testing.T) {
	page.Check(t, "../../docs/reference/resources.md", resourcesPage(t))
}

func resourcesPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString(`# Resources

The kinds of ` + "`" + Group + "`" + `, field by field. ` + "`[]`" + ` after a name stands for each entry of a list. All of them
are listed by ` + "`kubectl get fairlead -A`" + `.

<!-- Generated from config/crd by "make generate". -->
`)
	written := map[string]apiextensionsv1.JSONSchemaProps{}
	for _, kind := range definitions(t) {
		version := kind.Spec.Versions[0]
		schema := version.Schema.OpenAPIV3Schema
		where := "in a namespace"
		if kind.Spec.Scope == apiextensionsv1.ClusterScoped {
			where = "for the whole cluster"
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", kind.Spec.Names.Kind, oneLine(schema.Description))
		fmt.Fprintf(&b, "`apiVersion: %s/%s`, %s; `kubectl get %s` or, for short, `%s`.\n\n", kind.Spec.Group, version.Name, where,
			kind.Spec.Names.Plural, strings.Join(kind.Spec.Names.ShortNames, "`, `"))
		if same := alike(written, schema.Properties["spec"]); same != "" {
			fmt.Fprintf(&b, "Its spec is that of %s.\n", same)
			continue
		}
		written[kind.Spec.Names.Kind] = schema.Properties["spec"]
		b.WriteString("| Field | Value | Meaning |\n|---|---|---|\n")
		for _, part := range []string{"spec", "status"} {
			if s, ok := schema.Properties[part]; ok {
				describe(&b, part, s, slices.Contains(schema.Required, part))
			}
		}
	}
	return b.String()
}

// alike is the kind whose spec has been described in the same words, or "".
func alike(written map[string]apiextensionsv1.JSONSchemaProps, spec apiextensionsv1.JSONSchemaProps) string {
	for kind, s := range written {
		if gocmp.Equal(s, spec) {
			return kind
		}
	}
	return ""
}

// definitions are the generated ones, by kind.
func definitions(t *testing.T) []apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob("../../config/crd/" + Group + "_*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &d); err != nil {
			t.Fatalf("%s: %s", file, err)
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b apiextensionsv1.CustomResourceDefinition) int {
		return cmp.Compare(a.Spec.Names.Kind, b.Spec.Names.Kind)
	})
	return out
}

// describe writes a row for a field and one for each field in it.
func describe(b *strings.Builder, path string, s apiextensionsv1.JSONSchemaProps, required bool) {
	if meaning := oneLine(s.Description); meaning != "" || len(s.Properties) == 0 {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", path, strings.ReplaceAll(valueOf(s, required), "|", `\|`), strings.ReplaceAll(meaning, "|", `\|`))
	}
	if s.Items != nil {
		path, s = path+"[]", *s.Items.Schema
	}
	if selector(s) {
		return // Kubernetes describes its fields
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		describe(b, path+"."+name, s.Properties[name], slices.Contains(s.Required, name))
	}
}

// valueOf is what a field may hold.
func valueOf(s apiextensionsv1.JSONSchemaProps, required bool) string {
	words := []string{typeOf(s)}
	if required {
		words = append(words, "required")
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		choice := strings.Join(values, " or ")
		if s.Type == "string" {
			words[0] = choice
		} else {
			words = append(words, choice)
		}
	}
	if s.Default != nil && string(s.Default.Raw) != "{}" {
		words = append(words, "default `"+strings.Trim(string(s.Default.Raw), `"`)+"`")
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		words = append(words, fmt.Sprintf("%v to %v", *s.Minimum, *s.Maximum))
	case s.Minimum != nil:
		words = append(words, fmt.Sprintf("at least %v", *s.Minimum))
	}
	if s.MaxLength != nil && !duration(s) {
		words = append(words, fmt.Sprintf("at most %d characters", *s.MaxLength))
	}
	if s.MaxProperties != nil {
		words = append(words, fmt.Sprintf("at most %d", *s.MaxProperties))
	}
	if s.MaxItems != nil {
		words = append(words, fmt.Sprintf("at most %d", *s.MaxItems))
	}
	for _, rule := range s.XValidations {
		words = append(words, rule.Message)
	}
	return strings.Join(words, "; ")
}

// TestValueOfAnEnumeration has values that look alike and are of two types.
func TestValueOfAnEnumeration(t *testing.T) {
	for _, c := range []struct{ kind, value, want string }{
		{"integer", `301`, "integer; `301`; default `301`"},
		{"string", `"301"`, "`301`; default `301`"},
	} {
		value := apiextensionsv1.JSON{Raw: []byte(c.value)}
		if got := valueOf(apiextensionsv1.JSONSchemaProps{Type: c.kind, Enum: []apiextensionsv1.JSON{value}, Default: &value}, false); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// duration reports whether the text of a field is a duration.
func duration(s apiextensionsv1.JSONSchemaProps) bool {
	return slices.ContainsFunc(s.XValidations, func(r apiextensionsv1.ValidationRule) bool {
		return strings.Contains(r.Rule, "duration(self)")
	})
}

func selector(s apiextensionsv1.JSONSchemaProps) bool {
	_, ok := s.Properties["matchLabels"]
	return ok
}

func typeOf(s apiextensionsv1.JSONSchemaProps) string {
	switch {
	case selector(s):
		return "label selector"
	case s.Type == "array":
		return "list of " + typeOf(*s.Items.Schema)
	case s.AdditionalProperties != nil:
		return "map to " + typeOf(*s.AdditionalProperties.Schema)
	case s.Format == "date-time":
		return "time"
	}
	return s.Type
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
