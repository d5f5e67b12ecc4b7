package fields

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/model/settings"
)

// Bounds of class fields that other functions check, each with the function.
var elsewhere = map[string]string{
	"targetPorts[]":          "settings.ValidateTargetPorts",
	"allowedHosts[].hosts[]": "validate.Host",
	"ports[].tlsPolicy":      "the type of settings.TLSPolicy",
	"listenPorts[].port":     "the type of settings.ListenPorts",
	"listenPorts[].protocol": "the type of settings.ListenPorts",
	"inbound[]":              "the type of settings.Inbound",
	"valuesPerCondition":     "classes.ValidateSpec: it has no upper bound",
}

// TestTheCRDsHaveTheBoundsOfTheTables compares the schemas of the CRDs with the tables: a bound that
// one of them has alone, or that differs, fails.
func TestTheCRDsHaveTheBoundsOfTheTables(t *testing.T) {
	known := map[string]bool{}
	for _, s := range settings.Table {
		if s.Class != "" {
			known[s.Class] = true
		}
	}
	for path := range elsewhere {
		known[path] = true
	}
	for crd, table := range map[string]Table{"backends": Backend, "clusterloadbalancerclasses": Class, "loadbalancerclasses": Class} {
		found := map[string]map[string]string{}
		collect(specOf(t, crd), "", found)
		if len(found) < len(table) {
			t.Errorf("%s has %d bounds, and the table %d", crd, len(found), len(table))
		}
		if crd != "backends" {
			for path := range known {
				if found[path] == nil && elsewhere[path] != "" {
					t.Errorf("%s has no bounds, and is listed as one that has", path)
				}
				delete(found, path)
			}
		}
		have := map[string]map[string]string{}
		for path, bound := range table {
			have[path] = bound.asSchema()
		}
		if diff := cmp.Diff(have, found); diff != "" {
			t.Errorf("bounds of %s (-table +CRD):\n%s", crd, diff)
		}
	}
}

// asSchema returns a bound with the names of a schema.
func (b Bound) asSchema() map[string]string {
	out := map[string]string{}
	set := func(name string, value any, is bool) {
		if is {
			out[name] = fmt.Sprint(value)
		}
	}
	set("enum", slices.Sorted(slices.Values(b.Known)), b.Known != nil)
	set("enum", b.Numbers, b.Numbers != nil)
	set("minimum", b.Least, b.Most > 0)
	set("maximum", b.Most, b.Most > 0)
	set("minLength", b.Shortest, b.Shortest > 0)
	set("maxLength", b.Longest, b.Longest > 0)
	set("minItems", b.FewestItems, b.FewestItems > 0)
	set("items", b.MostItems, b.MostItems > 0)
	set("pattern", b.Pattern, b.Pattern != nil)
	return out
}

// collect collects the bounds of a schema by path. Selectors of namespaces are Kubernetes' own.
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
	if len(bounds) > 0 {
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
	text, err := os.ReadFile("../../../config/crd/fairlead.dev_" + kind + ".yaml")
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
