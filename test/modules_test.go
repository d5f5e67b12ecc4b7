package test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// This file holds go.mod to the binary: a module that only tests use belongs into a nested module.

// testOnly are the direct requirements that the binary does not link, each with why it stays.
var testOnly = map[string]string{}

func TestTheBinaryLinksWhatTheModuleRequires(t *testing.T) {
	linked := strings.Fields(goCommand(t, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "."))
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal([]byte(goCommand(t, "mod", "edit", "-json")), &file); err != nil {
		t.Fatal(err)
	}
	required := map[string]bool{}
	for _, r := range file.Require {
		if r.Indirect {
			continue
		}
		required[r.Path] = true
		if _, excepted := testOnly[r.Path]; !excepted && !slices.Contains(linked, r.Path) {
			t.Errorf("go.mod requires %s, which the binary does not link: what needs it belongs into a nested module", r.Path)
		}
	}
	for path := range testOnly {
		if !required[path] || slices.Contains(linked, path) {
			t.Errorf("%s is no exception any more", path)
		}
	}
	if len(required) < 10 || len(linked) < len(required) {
		t.Errorf("%d modules are required and %d linked: the test reads too little", len(required), len(linked))
	}
}

// goCommand is what the go command prints in the folder of the main module.
func goCommand(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = ".."
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}
