package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/settings"
)

// This file fails for a setting that CHANGELOG.md does not name. The reference pages, which are
// generated from the code, have all of them.

// earlier is the file of the settings that CHANGELOG.md describes without their names: they are
// older than this test. mostEarlier is how many there are, which may only fall.
const (
	earlier     = "testdata/earlier-settings.txt"
	mostEarlier = 216
)

// The names of settings in reference pages: headings of annotations, rows of fields that people
// write, and rows of flags.
var (
	annotationHeading = regexp.MustCompile("(?m)^## `(fairlead\\.dev/[a-z0-9-]+)`$")
	fieldRow          = regexp.MustCompile("(?m)^\\| `spec\\.([][.A-Za-z0-9]+)` \\|")
	flagRow           = regexp.MustCompile("(?m)^\\| (?:`-[A-Za-z]`, )?`(--[a-z0-9-]+)[[ `]")
)

func TestTheChangelogNamesEachSetting(t *testing.T) {
	changelog, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(earlier)
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(string(text))
	if len(known) != mostEarlier {
		t.Errorf("%s has %d names, and had %d: name what is new in CHANGELOG.md; if there are fewer, write that here", earlier, len(known), mostEarlier)
	}
	found := map[string]bool{}
	pages, err := filepath.Glob("../docs/reference/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pages {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range settingsOf(string(page)) {
			found[name] = true
		}
	}
	for _, row := range settings.Table { // also before `make generate` writes its page
		if strings.HasPrefix(row.Annotation, settings.Prefix) {
			found[row.Annotation] = true
		}
	}
	for name := range found {
		if !slices.Contains(known, name) && !names(string(changelog), name) {
			t.Errorf("CHANGELOG.md does not name `%s`", name)
		}
	}
	for _, name := range known {
		if !found[name] {
			t.Errorf("%s names %s, which there is not: delete the line", earlier, name)
		}
	}
}

// settingsOf returns the names of settings in a reference page.
func settingsOf(page string) []string {
	var out []string
	for _, pattern := range []*regexp.Regexp{annotationHeading, fieldRow, flagRow} {
		for _, match := range pattern.FindAllStringSubmatch(page, -1) {
			out = append(out, match[1])
		}
	}
	return out
}

// names reports whether a text has a name in code quotes, alone or with a value.
func names(text, name string) bool {
	quoted := regexp.MustCompile("`(spec\\.)?" + regexp.QuoteMeta(name) + "([ =:][^`]*)?`")
	return quoted.MatchString(text)
}

func TestSettingsAreFoundAndNamed(t *testing.T) {
	page := "## `fairlead.dev/group`\n| `spec.a[].b` | string | |\n| `status.c` | | |\n| `-f`, `--filename FILE` | |\n| `--live` | |\n| `--with[=NAME]` | |\n"
	want := []string{"fairlead.dev/group", "a[].b", "--filename", "--live", "--with"}
	if got := settingsOf(page); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	for text, named := range map[string]bool{
		"has `--live`": true, "has `--live true`": true, "has --live": false, "has `--live-long`": false,
		"has `--live=\n2`": true, "has `a--live`": false, "has `spec.--live`": true,
	} {
		if names(text, "--live") != named {
			t.Errorf("%q names --live: want %v", text, named)
		}
	}
}
