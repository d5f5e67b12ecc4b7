package v1alpha1

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// This file compares the CRDs with the types: an API server drops a field that its CRD does not
// have.

type crdSchema struct {
	Properties           map[string]*crdSchema
	Items                *crdSchema
	AdditionalProperties *crdSchema
	Any                  bool `json:"x-kubernetes-preserve-unknown-fields"`
}

func TestTheCRDsHaveTheFieldsOfTheTypes(t *testing.T) {
	for file, object := range map[string]any{
		"backends": Backend{}, "clusterloadbalancerclasses": ClusterLoadBalancerClass{},
		"loadbalancerclasses": LoadBalancerClass{}, "loadbalancers": LoadBalancer{},
	} {
		text, err := os.ReadFile("../../config/crd/fairlead.dev_" + file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct{ OpenAPIV3Schema *crdSchema }
				}
			}
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		missing := missingFields(reflect.TypeOf(object), crd.Spec.Versions[0].Schema.OpenAPIV3Schema, "")
		for _, path := range missing {
			t.Errorf("the CRD of %s has no field %s: `make generate` writes it", file, path)
		}
	}
}

// missingFields returns the paths of the fields of a type that a schema does not have. It does not
// look into types of other packages.
func missingFields(of reflect.Type, in *crdSchema, at string) (missing []string) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case in == nil:
		return []string{at}
	case of.Kind() == reflect.Slice && in.Items != nil:
		return missingFields(of.Elem(), in.Items, at+"[]")
	case of.Kind() == reflect.Map && in.AdditionalProperties != nil:
		return missingFields(of.Elem(), in.AdditionalProperties, at+"[]")
	case in.Any || of.Kind() != reflect.Struct || of.PkgPath() != reflect.TypeFor[Backend]().PkgPath():
		return nil
	}
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous {
			missing = append(missing, missingFields(f.Type, in, at)...)
			continue
		}
		missing = append(missing, missingFields(f.Type, in.Properties[name], strings.TrimPrefix(at+"."+name, "."))...)
	}
	return missing
}

func TestAFieldThatASchemaLacksIsFound(t *testing.T) {
	type inner struct {
		A string `json:"a"`
		B string `json:"b,omitempty"`
	}
	type outer struct {
		inner
		List []inner          `json:"list"`
		Map  map[string]inner `json:"map"`
	}
	leaf := &crdSchema{}
	have := &crdSchema{Properties: map[string]*crdSchema{
		"a": leaf, "list": {Items: &crdSchema{Properties: map[string]*crdSchema{"a": leaf, "b": leaf}}},
		"map": {AdditionalProperties: &crdSchema{Properties: map[string]*crdSchema{"b": leaf}}},
	}}
	got := strings.Join(missingFields(reflect.TypeFor[outer](), have, ""), " ")
	if want := "b map[].a"; got != want {
		t.Errorf("missing are %q, want %q", got, want)
	}
}
