package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// This file tests the hook that `make hooks` installs, in a repository of its own.

func TestTheCommitMessageIsChecked(t *testing.T) {
	hook, err := filepath.Abs("../tools/hooks/commit-msg")
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	run := func(command string, args ...string) (string, error) {
		c := exec.Command(command, args...)
		c.Dir = tree
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	must := func(command string, args ...string) {
		t.Helper()
		if out, err := run(command, args...); err != nil {
			t.Fatalf("%s %q: %s: %s", command, args, err, out)
		}
	}
	must("git", "init", "-q")
	must("git", "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "begin")
	for _, name := range []string{"model/lb/lb.go", "model/lb/deep/deep.go", "cli/cli.go", "docs/page.md"} {
		if err := os.MkdirAll(filepath.Join(tree, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, name), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		message string
		staged  []string
		refused string // what the refusal says; "" where there is none
	}{
		"a package":                {message: "model/lb: pack paths of one action into one rule\n\nFor they are many.", staged: []string{"model/lb"}},
		"a package with its page":  {message: "model/lb: pack paths", staged: []string{"model/lb", "docs"}},
		"a directory of packages":  {message: "model: pack paths", staged: []string{"model"}},
		"72 characters":            {message: "model/lb: " + strings.Repeat("x", 62)},
		"73 characters":            {message: "model/lb: " + strings.Repeat("x", 63), refused: "73 characters"},
		"two packages":             {message: "model/lb: pack paths", staged: []string{"model/lb", "cli"}, refused: "other directories, too: cli"},
		"no directory":             {message: "pack paths", refused: `"dir: what changed"`},
		"one that is not there":    {message: "model/bl: pack paths", refused: "there is no model/bl"},
		"a full stop":              {message: "model/lb: pack paths.", refused: "full stop"},
		"comments before it":       {message: "# of git\nmodel/lb: pack paths"},
		"what git itself proposes": {message: `Revert "model/lb: pack paths"`},
	} {
		t.Run(name, func(t *testing.T) {
			must("git", "reset", "-q")
			for _, path := range c.staged {
				must("git", "add", path)
			}
			file := filepath.Join(t.TempDir(), "message")
			if err := os.WriteFile(file, []byte(c.message), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := run(hook, file)
			if (err != nil) != (c.refused != "") || !strings.Contains(out, c.refused) {
				t.Errorf("%q is answered by %q, %v; want %q", c.message, out, err, c.refused)
			}
		})
	}
}
