package test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// This file keeps the documents honest: what they point at exists.

var (
	links = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	// Commands are run at the top of the tree. A path that begins with one of its directories is there.
	blocks = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	paths  = regexp.MustCompile(`(?:[\s"'=]|file://)(?:\./)?((\w+)/[\w./-]+)`)
	tests  = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Za-z0-9]+)`")
	// A histogram is served as three series of its name.
	metrics = regexp.MustCompile(`\bfairlead_[a-z_]+?(?:_(?:bucket|sum|count))?\b`)
	series  = regexp.MustCompile(`_(?:bucket|sum|count)$`)
)

// TestDocumentsNameMetricsThatExist holds the pages against the reference, which is generated from
// the table of metrics.
func TestDocumentsNameMetricsThatExist(t *testing.T) {
	known := map[string]bool{}
	const reference = "../docs/reference/metrics.md"
	pages := contents(t, ".md")
	for _, row := range regexp.MustCompile("(?m)^\\| `(fairlead_\\w+)` \\|").FindAllStringSubmatch(pages[reference], -1) {
		known[row[1]] = true
	}
	if len(known) == 0 {
		t.Fatalf("%s names no metrics", reference)
	}
	for file, text := range pages {
		for _, name := range metrics.FindAllString(text, -1) {
			if !known[name] && !known[series.ReplaceAllString(name, "")] {
				t.Errorf("%s names the metric %s, which does not exist", file, name)
			}
		}
	}
}

func TestDocumentsPointAtWhatExists(t *testing.T) {
	functions := contents(t, "_test.go")
	for file, text := range contents(t, ".md") {
		for _, link := range links.FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			if !exists(filepath.Join(filepath.Dir(file), link[1])) {
				t.Errorf("%s points at %s, which does not exist", file, link[1])
			}
		}
		for _, path := range paths.FindAllStringSubmatch(strings.Join(blocks.FindAllString(text, -1), "\n"), -1) {
			if exists("../"+path[2]) && !exists("../"+path[1]) {
				t.Errorf("a command of %s uses %s, which does not exist", file, path[1])
			}
		}
		for _, name := range tests.FindAllStringSubmatch(text, -1) {
			if !defined(functions, name[1]) {
				t.Errorf("%s relies on %s, which does not exist", file, name[1])
			}
		}
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func defined(files map[string]string, function string) bool {
	for _, text := range files {
		if strings.Contains(text, "\nfunc "+function+"(") {
			return true
		}
	}
	return false
}

// contents are the files of the tree whose names end alike, hidden directories and releases left
// out.
func contents(t *testing.T, ending string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..", file == "../dist":
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ending):
			return nil
		}
		text, err := os.ReadFile(file)
		found[file] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestDocumentsNameTheVersionOfGo holds pages that people look at first to go.mod.
func TestDocumentsNameTheVersionOfGo(t *testing.T) {
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^toolchain go((\d+\.\d+)\.\d+)$`).FindSubmatch(text)
	if version == nil {
		t.Fatal("go.mod names no toolchain")
	}
	pages := contents(t, ".md")
	for page, names := range map[string]string{
		"../README.md":              "Go " + string(version[2]) + " or newer",
		"../CONTRIBUTING.md":        "Go " + string(version[2]) + " or newer",
		"../docs/how-to/install.md": "golang:" + string(version[1]),
	} {
		if !strings.Contains(pages[page], names) {
			t.Errorf("%s does not say %q", page, names)
		}
	}
}

// TestEachReasonOfAConditionIsExplained: the page for operators has a row for each reason that asks
// for attention.
func TestEachReasonOfAConditionIsExplained(t *testing.T) {
	types := string(mustRead(t, "../api/v1alpha1/loadbalancer_types.go"))
	page := string(mustRead(t, "../docs/reference/conditions.md"))
	reasons := regexp.MustCompile(`(?m)^\tReason\w+\s+= "(\w+)"`).FindAllStringSubmatch(types, -1)
	if len(reasons) < 20 {
		t.Fatalf("%d reasons; the expression finds too few", len(reasons))
	}
	fine := map[string]bool{"Accepted": true, "Programmed": true, "AsExpected": true, "NotWaiting": true}
	for _, reason := range reasons {
		if !fine[reason[1]] && !strings.Contains(page, "`"+reason[1]+"`") {
			t.Errorf("docs/reference/conditions.md has no reason %s", reason[1])
		}
	}
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestEachAnnotationOfTheOtherControllerIsAFeature: the page of features names each annotation of the dialect, itself or by
// a pattern, and each of its rows has a test or a reason.
func TestEachAnnotationOfTheOtherControllerIsAFeature(t *testing.T) {
	page := string(mustRead(t, "../docs/reference/features.md"))
	var patterns []*regexp.Regexp
	for _, name := range regexp.MustCompile("`([a-z0-9.*-]+)`").FindAllStringSubmatch(page, -1) {
		text := strings.ReplaceAll(regexp.QuoteMeta(name[1]), `\*`, `.*`)
		patterns = append(patterns, regexp.MustCompile("^"+text+"$"))
	}
	dialect := string(mustRead(t, "../docs/reference/dialect-alb.md"))
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(dialect, -1)
	if len(rows) < 50 {
		t.Fatalf("%d annotations; the expression finds too few", len(rows))
	}
	for _, row := range rows {
		if !slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(row[1]) }) {
			t.Errorf("docs/reference/features.md does not name %s", row[1])
		}
	}
	for _, line := range strings.Split(page, "\n") {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| ") && (len(cells) != 3 || strings.Trim(cells[2], " |") == "") {
			t.Errorf("neither a test nor a reason: %s", line)
		}
	}
}
