package cluster

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/test/page"
)

// This file holds what is compiled in to config: the roles of the operator, and the fields of its
// kinds.

//go:generate go test . -run ^TestWhatIsCompiledIn$ -update

func TestWhatIsCompiledIn(t *testing.T) {
	page.Check(t, "operator.yaml", read(t, "../../config/rbac/operator.yaml"))
	page.Check(t, "namespaced.yaml", read(t, "../../config/rbac/namespaced/cluster.yaml"))
	files, err := filepath.Glob("../../config/crd/fairlead.dev_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("error %v, files %v", err, files)
	}
	fields := map[string][]string{}
	for _, file := range files {
		definition := map[string]any{}
		if err := yaml.Unmarshal([]byte(read(t, file)), &definition); err != nil {
			t.Fatal(err)
		}
		name, _ := at(definition, "metadata", "name").(string)
		fields[name] = FieldsOf(definition)
	}
	text, err := json.MarshalIndent(fields, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	page.Check(t, "fields.json", string(text)+"\n")
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
