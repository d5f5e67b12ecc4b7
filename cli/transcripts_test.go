package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/page"
)

// This file replays transcripts: what a user types from first contact to a decision, and what the
// commands print. In testdata/transcripts each user has a directory with manifests and a
// transcript.txt. There, "# " begins a comment, and "$ " a command: fairlead, whose output can go to a
// file with "> FILE", or cp. The rest is printed: -update writes it anew.

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
			page.Check(t, file, replay(t, string(text)))
		})
	}
}

// replay returns a transcript with what its commands print now.
func replay(t *testing.T, text string) string {
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
