package fuzz

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/model/ingress"
)

// FuzzManifest reads any text as manifests, and compiles what they hold.
func FuzzManifest(f *testing.F) {
	samples, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(samples) == 0 {
		f.Fatalf("finding samples: %v, found %d", err, len(samples))
	}
	for _, file := range samples {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Service"}]}`,
		"apiVersion: v1\nkind: Service\nmetadata: &a {name: x, labels: *a}\n", "---\n---\n# nothing\n", "\xef\xbb\xbf{}", "kind: [", "a: &a [x]\nb: [*a, *a]\n",
		"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: x, creationTimestamp: 0}\nspec: {rules: [{http: {paths: [{}]}}]}\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		within(t, func() {
			objects, err := manifests.Load([]string{"-"}, bytes.NewReader(text))
			if err != nil {
				return
			}
			w := world{Objects: objects}
			_, _ = w.compileAs(ingress.ClassOptions{AssumeClasses: []string{class}})
		})
	})
}
