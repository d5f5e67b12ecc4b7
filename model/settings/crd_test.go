package settings

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// This file compares the schemas of the CRDs with the table of this package.

// Bounds of class fields that functions check, each with the function.
var elsewhere = map[string]string{
	"targetPorts[]":              "ValidateTargetPorts",
	"allowedHosts[].hosts[]":     "validate.Host",
	"ports[].tlsPolicy":          "the type of TLSPolicy",
	"listenPorts[].port":         "the type of ListenPorts",
	"listenPorts[].protocol":     "the type of ListenPorts",
	"inbound[]":                  "the type of Inbound",
	"valuesPerCondition":         "classes.ValidateSpec: it has no upper bound",
	"loadBalancers.perNamespace": "classes.ValidateSpec: it has no upper bound",

	"loadBalancers.certificatesPerNamespace": "classes.ValidateSpec: it has no upper bound",
}

// TestTheCRDsHaveTheBoundsOfTheTables fails for a bound that a CRD or a table has alone, or that
// differs.
func TestTheCRDsHaveTheBoundsOfTheTables(t *testing.T) {
	class := maps.Clone(ClassFields)
	for _, s := range Table {
		if s.Class != "" {
			class[s.Class] = s.Type.Bound
		}
	}
	for crd, table := range map[string]Fields{
		"backends": BackendFields, "clusterloadbalancerclasses": class, "loadbalancerclasses": class,
	} {
		found := map[string]map[string]string{}
		collect(specOf(t, crd), "", found)
		if crd != "backends" {
			for path := range elsewhere {
				if found[path] == nil {
					t.Errorf("%s has no bounds, and is listed as one that has", path)
				}
				delete(found, path)
			}
		}
		have := map[string]map[string]string{}
		for path, bound := range table {
			if schema := asSchema(bound); len(schema) > 0 {
				have[path] = schema
			}
		}
		if diff := cmp.Diff(have, found); diff != "" {
			t.Errorf("bounds of %s (-table +CRD):\n%s", crd, diff)
		}
	}
}

// TestTheCRDHasTheFieldsAndDefaultsOfTheTable looks each field of a class up in the CRD.
func TestTheCRDHasTheFieldsAndDefaultsOfTheTable(t *testing.T) {
	spec := specOf(t, "clusterloadbalancerclasses")
	for _, s := range Table {
		if s.Class == "" {
			continue
		}
		field := spec
		for part := range strings.SplitSeq(s.Class, ".") {
			properties, _ := field["properties"].(map[string]any)
			field, _ = properties[part].(map[string]any)
		}
		if field == nil {
			t.Errorf("the CRD has no field %s", s.Class)
		}
		if usual, is := field["default"]; is && fmt.Sprint(usual) != s.Default {
			t.Errorf("the default of %s is %v in the CRD, and %q in the table", s.Class, usual, s.Default)
		}
	}
	properties := spec["properties"].(map[string]any)
	health := fmt.Sprint(properties["healthCheck"].(map[string]any)["x-kubernetes-validations"])
	rule := fmt.Sprintf("(has(self.timeoutSeconds) ? self.timeoutSeconds : %s) < "+
		"(has(self.intervalSeconds) ? self.intervalSeconds : %s)",
		Of(HealthTimeout).Default, Of(HealthInterval).Default)
	if !strings.Contains(health, rule) {
		t.Errorf("the CRD compares timeout and interval as %s; want %s", health, rule)
	}
}

// TestTheCRDOfBackendsHasTheDefaultsOfTheTable fails for a default that the CRD or the table has
// alone, or that differs, and for one that cannot be stored.
func TestTheCRDOfBackendsHasTheDefaultsOfTheTable(t *testing.T) {
	have := map[string]string{}
	for path, bound := range BackendFields {
		if bound.Default != "" {
			have[path] = bound.Default
		}
	}
	found := map[string]string{}
	collectDefaults(specOf(t, "backends"), "", found)
	if diff := cmp.Diff(have, found); diff != "" {
		t.Errorf("defaults of backends (-table +CRD):\n%s", diff)
	}
}

// collectDefaults collects the defaults of a schema by path.
func collectDefaults(schema map[string]any, path string, into map[string]string) {
	if usual, is := schema["default"]; is {
		into[path] = fmt.Sprint(usual)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		collectDefaults(property.(map[string]any), strings.TrimPrefix(path+"."+name, "."), into)
	}
	if items, is := schema["items"].(map[string]any); is {
		collectDefaults(items, path+"[]", into)
	}
}

// asSchema returns a bound with the names of a schema.
func asSchema(b Bound) map[string]string {
	out := map[string]string{}
	set := func(name string, value any, is bool) {
		if is {
			out[name] = fmt.Sprint(value)
		}
	}
	known := slices.Sorted(slices.Values(b.Known))
	set("enum", known, b.Known != nil && !slices.Equal(known, []string{"false", "true"})) // a boolean
	set("enum", b.Numbers, b.Numbers != nil)
	set("minimum", b.Least, b.Most != 0)
	set("maximum", b.Most, b.Most != 0)
	set("minLength", b.Shortest, b.Shortest > 0)
	set("maxLength", b.Longest, b.Longest > 0)
	set("minItems", b.FewestItems, b.FewestItems > 0)
	set("items", b.MostItems, b.MostItems > 0)
	set("pattern", b.Pattern, b.Pattern != nil)
	return out
}

// collect collects the bounds of a schema by path. Selectors of namespaces are Kubernetes' own, and
// durations have a bound of the length of their text alone.
func collect(schema map[string]any, path string, into map[string]map[string]string) {
	bounds := map[string]string{}
	for _, name := range []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "pattern"} {
		if value, is := schema[name]; is {
			bounds[name] = fmt.Sprint(value)
		}
	}
	for _, name := range []string{"maxItems", "maxProperties"} {
		if value, is := schema[name]; is {
			bounds["items"] = fmt.Sprint(value)
		}
	}
	if known, is := schema["enum"].([]any); is {
		var texts []string
		for _, k := range known {
			texts = append(texts, fmt.Sprint(k))
		}
		slices.Sort(texts)
		bounds["enum"] = fmt.Sprint(texts)
	}
	duration := strings.Contains(fmt.Sprint(schema["x-kubernetes-validations"]), "duration(self)")
	if len(bounds) > 0 && !duration {
		into[path] = bounds
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if name != "namespaceSelector" {
			collect(properties[name].(map[string]any), strings.TrimPrefix(path+"."+name, "."), into)
		}
	}
	if items, is := schema["items"].(map[string]any); is {
		collect(items, path+"[]", into)
	}
}

// specOf returns the schema of the spec of a kind.
func specOf(t *testing.T, kind string) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../config/crd/fairlead.dev_" + kind + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema["properties"].(map[string]any)
	return properties["spec"].(map[string]any)
}
