package test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// This file keeps docs/contributing/architecture.md: each function that the page names is in the
// file that it links.

const architecture = "../docs/contributing/architecture.md"

// TestArchitectureNamesWhatExists finds the declaration of each name that the page links to a file.
func TestArchitectureNamesWhatExists(t *testing.T) {
	text, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("\\[`(\\w+)`\\]\\((\\.\\./[^)#]+\\.go)\\)").FindAllStringSubmatch(string(text), -1)
	if len(names) < 30 {
		t.Errorf("the page names %d declarations; the expression finds too few", len(names))
	}
	for _, name := range names {
		file, err := os.ReadFile(filepath.Join(filepath.Dir(architecture), name[2]))
		if err != nil {
			t.Error(err)
			continue
		}
		declared := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |var |const |\t)` + name[1] + `\b`)
		if !declared.Match(file) {
			t.Errorf("%s does not declare %s", name[2], name[1])
		}
	}
}
