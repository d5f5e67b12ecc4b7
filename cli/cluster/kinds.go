package cluster

import (
	"context"
	_ "embed" // the fields
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/check"
)

// This file compares the CRDs of the cluster with those of this binary.

// fieldsText holds the fields of each CRD in config/crd. A test writes it.
//
//go:embed fields.json
var fieldsText []byte

// checkKinds returns whether each CRD is installed with the fields of this version.
func checkKinds(ctx context.Context, c Cluster) []check.Finding {
	var want map[string][]string
	if err := json.Unmarshal(fieldsText, &want); err != nil {
		return []check.Finding{check.Unsure("cluster/kinds", "kinds", err.Error(), "")}
	}
	var out []check.Finding
	for _, name := range slices.Sorted(maps.Keys(want)) {
		out = append(out, checkKind(ctx, c, name, want[name]))
	}
	return out
}

func checkKind(ctx context.Context, c Cluster, name string, want []string) check.Finding {
	id, title := "cluster/kind/"+name, name
	definition, err := c.Definition(ctx, name)
	if err != nil {
		return check.Unsure(id, title, err.Error(), "")
	}
	if definition == nil {
		return check.Bad(id, title, "it is not installed", "install config/crd, or the chart")
	}
	have := FieldsOf(definition)
	lacking, surplus := without(want, have), without(have, want)
	switch {
	case len(lacking) > 0:
		return check.Bad(id, title, "it is of another version: it lacks "+some(lacking),
			"install config/crd of this version")
	case len(surplus) > 0:
		return check.Unsure(id, title, "it is of another version, and has besides "+some(surplus),
			"use the binary of the version that is installed")
	}
	return check.Good(id, title, "it is installed, and of this version")
}

// some returns the first of many names.
func some(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// without returns the names of one sorted list that are not in another.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		_, found := slices.BinarySearch(others, n)
		return found
	})
}

// FieldsOf returns the paths of all fields in all versions of a CustomResourceDefinition, sorted.
func FieldsOf(definition map[string]any) []string {
	found := map[string]bool{}
	versions, _ := at(definition, "spec", "versions").([]any)
	for _, v := range versions {
		if version, ok := v.(map[string]any); ok {
			schema, _ := at(version, "schema", "openAPIV3Schema").(map[string]any)
			name, _ := version["name"].(string)
			addFields(found, name, schema)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func addFields(found map[string]bool, path string, schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	for name, of := range properties {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			found[path+"."+name] = true
		}
		if deeper, ok := of.(map[string]any); ok {
			addFields(found, path+"."+name, deeper)
		}
	}
	for _, each := range []string{"items", "additionalProperties"} {
		if deeper, ok := schema[each].(map[string]any); ok {
			addFields(found, path, deeper)
		}
	}
}

func at(in map[string]any, path ...string) any {
	var value any = in
	for _, name := range path {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = fields[name]
	}
	return value
}
