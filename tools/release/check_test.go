package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const changelog = `# Changelog

## [Unreleased]

### Added

- The next one.

## [1.2.3] - 2026-11-24

### Fixed

- A fault.

## [1.2.2] - 2026-11-01
`

// repository makes a repository of files with one commit.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), text)
	}
	commit(t, dir)
	return dir
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// commit makes a directory a repository of what is in it.
func commit(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "--all"},
		{"-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "begin"},
	} {
		command := exec.Command("git", args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-11-24T10:00:00+01:00",
			"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %s: %s", strings.Join(args, " "), err, out)
		}
	}
}

func TestAReleaseIsOfACommitAndAKnownVersion(t *testing.T) {
	cases := map[string]struct {
		version string
		change  string // a file that is written after the commit
		refused string // what the refusal says; "" where there is none
	}{
		"a version that the changelog has":  {version: "v1.2.3"},
		"one that it does not have":         {version: "v1.2.4", refused: `no heading "## [1.2.4] - YYYY-MM-DD"`},
		"one of which it says nothing":      {version: "v1.2.2", refused: "says nothing about v1.2.2"},
		"none":                              {version: "", refused: `"" is not a semantic version`},
		"without its v":                     {version: "1.2.3", refused: "not a semantic version such as v1.2.3"},
		"two numbers":                       {version: "v1.2", refused: "not a semantic version"},
		"what a tag of an image cannot say": {version: "v1.2.3+more", refused: "not a semantic version"},
		"a file that was changed":           {version: "v1.2.3", change: "main.go", refused: "not committed:\n M main.go"},
		"a file that git does not have":     {version: "v1.2.3", change: "new.go", refused: "not committed:\n?? new.go"},
		"a file that git ignores":           {version: "v1.2.3", change: "fairlead"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tree := repository(t, map[string]string{
				"CHANGELOG.md": changelog, "main.go": "", ".gitignore": "/fairlead\n",
			})
			if c.change != "" {
				writeFile(t, filepath.Join(tree, c.change), "changed")
			}
			r, err := check(t.Context(), tree, c.version)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("the error is %v, want %q", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC); r.at != want || len(r.commit) != 40 {
				t.Errorf("it is of %s at %s, want a commit at %s", r.commit, r.at, want)
			}
		})
	}
}

func TestNotesAreTheSectionOfTheVersion(t *testing.T) {
	notes, err := notesOf(changelog, "v1.2.3")
	if want := "### Fixed\n\n- A fault."; notes != want || err != nil {
		t.Errorf("the notes are %q, %v; want %q", notes, err, want)
	}
	page := release{version: "v1.2.3", commit: "abc", notes: notes}.releaseNotes()
	if want := "# Fairlead v1.2.3\n\n### Fixed\n\n- A fault.\n\nMade of commit abc.\n"; string(page.data) != want {
		t.Errorf("the page is %q, want %q", page.data, want)
	}
}

// TestTheChangelogCanBeReleased: what a maintainer has to do is to turn Unreleased into the
// version.
func TestTheChangelogCanBeReleased(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\n## [Unreleased]\n") {
		t.Error("CHANGELOG.md has no heading ## [Unreleased]")
	}
	if strings.Contains(strings.ReplaceAll(string(text), "](https://", ""), "](") {
		t.Error("CHANGELOG.md has a relative link, which points nowhere in release notes")
	}
}

func TestChecksumsAreThoseOfSha256sum(t *testing.T) {
	got := checksums([]file{{name: "a", data: []byte("abc")}, {name: "b"}})
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n" +
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
	if got.name != "SHA256SUMS" || string(got.data) != want {
		t.Errorf("%s has\n%s\nwant\n%s", got.name, got.data, want)
	}
}

func TestAReleaseTakesThePlaceOfAnOlderOne(t *testing.T) {
	dist := filepath.Join(t.TempDir(), "dist")
	for _, name := range []string{"old", "new"} {
		if err := write(filepath.Join(dist, "v1.2.3"), []file{{name: name, data: []byte("text")}}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := filepath.Glob(filepath.Join(dist, "*", "*"))
	if err != nil || len(found) != 1 || filepath.Base(found[0]) != "new" {
		t.Errorf("there is %v, %v; want the new file alone", found, err)
	}
}
