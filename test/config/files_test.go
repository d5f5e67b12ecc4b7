package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// This file looks at each file by itself.

// TestEveryFileIsUnderstood decodes every file strictly: a field that its kind does not have is a
// field that does nothing. And a file that no kustomization names is deployed by nobody.
func TestEveryFileIsUnderstood(t *testing.T) {
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "samples": // objects of a user; their tests are the demo's
			return fs.SkipDir
		case entry.IsDir() && entry.Name() == "chart": // helm's to understand
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(file) != ".yaml":
			return nil
		}
		t.Run(strings.TrimPrefix(file, root+"/"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if objects := decode(t, text); len(objects) > 0 && !named(t, file) {
				t.Error("the kustomization beside it does not name it")
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func named(t *testing.T, file string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var k types.Kustomization
	if err := yaml.Unmarshal(text, &k); err != nil {
		t.Fatal(err)
	}
	return slices.Contains(k.Resources, filepath.Base(file))
}
