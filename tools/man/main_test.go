package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryCommandHasAPage writes the pages twice: they have flags and examples, and are equal.
func TestEveryCommandHasAPage(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := write(dir); err != nil {
			t.Fatal(err)
		}
	}
	for name, has := range map[string]string{
		"fairlead": "fairlead-plan", "fairlead-plan": "--fail-on", "fairlead-explain": "--header", "fairlead-validate": "--recursive",
		"fairlead-run": "--leader-elect", "fairlead-provider-check": "--only", "fairlead-completion-bash": "bash",
	} {
		page, err := os.ReadFile(filepath.Join(first, name+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		text := strings.ReplaceAll(string(page), `\-`, "-")
		if !strings.Contains(text, has) || !strings.Contains(text, ".TH") {
			t.Errorf("%s.1 does not have %s:\n%s", name, has, page)
		}
		again, err := os.ReadFile(filepath.Join(second, name+".1"))
		if err != nil || string(again) != string(page) {
			t.Errorf("%s.1 differs when it is written again, error %v", name, err)
		}
	}
}
