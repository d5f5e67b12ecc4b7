package settings

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/api/v1alpha1"
)

func TestTheTableIsSound(t *testing.T) {
	for _, s := range Table {
		t.Run(s.Annotation+" "+s.Class, func(t *testing.T) {
			if s.put == nil && s.Class == "" {
				return // the class of an Ingress, which package ingress reads
			}
			if len(s.Good) == 0 || len(s.Bad) == 0 {
				t.Error("it has no good values, or no bad ones")
			}
			for _, value := range slices.Concat(s.Good, []string{s.Example, s.Default}) {
				if value == "" {
					continue
				}
				if err := s.check(value); err != nil {
					t.Errorf("%q is refused: %s", value, err)
				}
			}
			for _, value := range s.Bad {
				if s.check(value) == nil {
					t.Errorf("%q is accepted", value)
				}
			}
			if (s.ofClass == nil) != (s.Class+s.Attribute == "") {
				t.Error("it names a field of the class and does not read it, or reads one and does not name it")
			}
			if s.Decides != IngressDecides && s.Class+s.Attribute == "" {
				t.Error("a class that does not have it cannot decide about it")
			}
		})
	}
}

// A class that sets an attribute decides: an Ingress can say the same in any spelling, and nothing
// else.
func TestTheClassDecidesAboutAttributes(t *testing.T) {
	class := v1alpha1.LoadBalancerClassSpec{Attributes: map[string]string{"idle_timeout.timeout_seconds": "60"}}
	for value, allowed := range map[string]bool{"60": true, "060": true, "61": false} {
		given, found := Read(map[string]string{IdleTimeout: value}, &class, true)
		want := map[string]string{"idle_timeout.timeout_seconds": "60"}
		if !allowed {
			want = nil
		}
		if diff := cmp.Diff(want, given.BalancerAttributes); diff != "" || (len(found) == 0) != allowed {
			t.Errorf("%s: found %v, attributes (-want +got):\n%s", value, found, diff)
		}
	}
	if given, _ := Read(nil, &class, true); given.BalancerAttributes != nil {
		t.Errorf("an Ingress that says nothing asks for %v", given.BalancerAttributes)
	}
}

func TestDefaultsOfWaitsAreThoseOfTheTable(t *testing.T) {
	for field, used := range map[string]time.Duration{"warmTimeout": DefaultWarmTimeout, "moveGrace": DefaultMoveGrace} {
		at := slices.IndexFunc(Table, func(s Setting) bool { return s.Class == field })
		if d, err := time.ParseDuration(Table[at].Default); err != nil || d != used {
			t.Errorf("%s is %s in the table, and %s in use", field, Table[at].Default, used)
		}
	}
}

// check is Check for fields of the class too, which put nothing.
func (s *Setting) check(value string) error {
	if s.put == nil {
		return s.Type.Check(value)
	}
	return s.Check(value)
}

// TestTheCRDHasTheBoundsOfTheTable compares the schema of the CRD with the rows: a bound that
// stands in one of them alone, or is another one there, fails.
func TestTheCRDHasTheBoundsOfTheTable(t *testing.T) {
	spec := schemaOfClass(t)
	for _, s := range Table {
		if s.Class == "" {
			continue
		}
		t.Run(s.Class, func(t *testing.T) {
			field := spec
			for part := range strings.SplitSeq(s.Class, ".") {
				properties, _ := field["properties"].(map[string]any)
				field, _ = properties[part].(map[string]any)
			}
			if field == nil {
				t.Fatal("the CRD has no such field")
			}
			if diff := cmp.Diff(s.Type.bounds(), boundsIn(field)); diff != "" {
				t.Errorf("its bounds (-table +CRD):\n%s", diff)
			}
			if usual, is := field["default"]; is && fmt.Sprint(usual) != s.Default {
				t.Errorf("its default is %v in the CRD, and %q in the table", usual, s.Default)
			}
		})
	}
	health := fmt.Sprint(spec["properties"].(map[string]any)["healthCheck"].(map[string]any)["x-kubernetes-validations"])
	rule := fmt.Sprintf("(has(self.timeoutSeconds) ? self.timeoutSeconds : %s) < (has(self.intervalSeconds) ? self.intervalSeconds : %s)", Of(HealthTimeout).Default, Of(HealthInterval).Default)
	if !strings.Contains(health, rule) {
		t.Errorf("the CRD compares timeout and interval as %s; want %s", health, rule)
	}
}

// bounds are the bounds of a type, as a schema names them.
func (t Type) bounds() map[string]string {
	out := map[string]string{}
	set := func(name string, value any, is bool) {
		if is {
			out[name] = fmt.Sprint(value)
		}
	}
	known := slices.Sorted(slices.Values(t.Known))
	set("enum", known, t.Known != nil && !slices.Equal(known, []string{"false", "true"}))
	set("minimum", t.Least, t.isInteger())
	set("maximum", t.Most, t.isInteger())
	set("maxLength", t.Longest, t.Longest > 0)
	set("maxItems", t.Items, t.Items > 0)
	set("pattern", t.Pattern, t.Pattern != nil)
	return out
}

// boundsIn are the bounds of a field of the CRD. Durations have a bound of the length of their text
// alone.
func boundsIn(field map[string]any) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"minimum", "maximum", "maxLength", "maxItems", "pattern"} {
		if value, is := field[name]; is && !isDuration(field) {
			out[name] = fmt.Sprint(value)
		}
	}
	if known, is := field["enum"].([]any); is {
		var texts []string
		for _, k := range known {
			texts = append(texts, fmt.Sprint(k))
		}
		slices.Sort(texts)
		out["enum"] = fmt.Sprint(texts)
	}
	return out
}

func isDuration(field map[string]any) bool {
	return strings.Contains(fmt.Sprint(field["x-kubernetes-validations"]), "duration(self)")
}

// schemaOfClass is the schema of the spec of a class.
func schemaOfClass(t *testing.T) map[string]any {
	text, err := os.ReadFile("../../config/crd/fairlead.dev_clusterloadbalancerclasses.yaml")
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
