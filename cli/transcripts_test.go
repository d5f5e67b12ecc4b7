package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/page"
)

// This file replays transcripts: what a user types from first contact to a decision, and what the
// commands print. In testdata/transcripts each user has a directory with manifests and a
// transcript.txt. There, "# " begins a comment, and "$ " a command: fairlead, whose output can go to a
// file with "> FILE", cp, or git. The rest is printed: -update writes it anew.

func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*/transcript.txt")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d transcripts, want those of three users; error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			file, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Dir(file))); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			page.Check(t, file, rerun(t, string(text)))
		})
	}
}

// rerun returns a transcript with what its commands print now.
func rerun(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(text) {
		command, is := strings.CutPrefix(line, "$ ")
		if is {
			fmt.Fprintf(&out, "%s%s\n", line, typed(t, strings.TrimSpace(command)))
		} else if strings.HasPrefix(line, "# ") {
			out.WriteString(line)
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// typed runs a command, and returns what it prints and its exit code.
func typed(t *testing.T, command string) string {
	t.Helper()
	command, file, redirected := strings.Cut(command, " > ")
	words := strings.Fields(command)
	if words[0] == "git" {
		author := []string{"-c", "user.name=a", "-c", "user.email=a@example.com"}
		out, err := exec.CommandContext(t.Context(), "git", append(author, words[1:]...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return ""
	}
	if words[0] == "cp" {
		text, err := os.ReadFile(words[1])
		if err != nil {
			t.Fatal(err)
		}
		write(t, words[2], string(text))
		return ""
	}
	var out, complaints bytes.Buffer
	code := Run(t.Context(), words[1:], testProviders(),
		Streams{In: strings.NewReader(""), Out: &out, Err: &complaints})
	if redirected {
		write(t, file, out.String())
		out.Reset()
	}
	var shown strings.Builder
	for line := range strings.Lines(out.String() + complaints.String()) {
		shown.WriteString(strings.TrimRight("  "+line, " \n") + "\n")
	}
	return fmt.Sprintf("%s  [exit code %d]\n", shown.String(), code)
}

// TestExamplesOfPagesAreThoseOfTranscripts: what a page says that a command prints, a transcript has.
// An example with other manifests has a test of its own.
func TestExamplesOfPagesAreThoseOfTranscripts(t *testing.T) {
	elsewhere := []string{
		"$ fairlead replay --live --logs access.log",                             // test/operator
		"$ fairlead verify manifests/ --provider aws --expect expectations.yaml", // verify_test.go
	}
	var transcripts strings.Builder
	files, _ := filepath.Glob("testdata/transcripts/*/transcript.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			transcripts.WriteString(strings.TrimPrefix(line, "  "))
		}
	}
	found := 0
	for _, name := range []string{"gitops", "verify", "replay"} {
		text, err := os.ReadFile("../docs/how-to/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(string(text), "```\n") {
			command, _, _ := strings.Cut(block, "\n")
			if !strings.HasPrefix(command, "$ ") || slices.Contains(elsewhere, command) {
				continue
			}
			if found++; !strings.Contains(transcripts.String(), block) {
				t.Errorf("%s.md: no transcript has\n%s", name, block)
			}
		}
	}
	if found < 3 {
		t.Errorf("%d examples are compared", found)
	}
}
