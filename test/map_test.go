package test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// This file keeps the map of README.md: it names each package, in the order in which values flow.

const readme = "../README.md"

// A place is a directory that the map names, and the lines that describe it.
type place struct{ dir, about string }

// mapOf reads the map. A line has a directory and its description. A directory that is indented is
// in the one above it. A line that begins with more spaces continues the description.
func mapOf(t *testing.T) []place {
	t.Helper()
	_, rest, begun := strings.Cut(string(mustRead(t, readme)), "## The map\n\n```\n")
	text, _, ended := strings.Cut(rest, "```")
	if !begun || !ended {
		t.Fatalf("%s has no map", readme)
	}
	var out []place
	top := ""
	for line := range strings.Lines(text) {
		name := strings.TrimLeft(line, " ")
		dir, about, _ := strings.Cut(name, "/ ")
		switch len(line) - len(name) {
		case 0:
			top = dir
		case 2:
			dir = path.Join(top, dir)
		default:
			out[len(out)-1].about += " " + name
			continue
		}
		out = append(out, place{dir, about})
	}
	return out
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTheMapNamesEachPackage: by a line of its own, or in the line of the directory that it is in,
// or of a package beside it.
func TestTheMapNamesEachPackage(t *testing.T) {
	places := mapOf(t)
	if len(places) < 20 {
		t.Fatalf("the map has %d lines; too few are read", len(places))
	}
	named := map[string]bool{".": true}
	parts := regexp.MustCompile(`\b([a-z]+)/`)
	for _, p := range places {
		if strings.HasPrefix(p.dir, "main.go") {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", p.dir)); err != nil {
			t.Errorf("the map names %s, which does not exist", p.dir)
		}
		named[p.dir] = true
		for _, part := range parts.FindAllStringSubmatch(p.about, -1) {
			within, beside := path.Join(p.dir, part[1]), path.Join(path.Dir(p.dir), part[1])
			_, err := os.Stat(filepath.Join("..", within))
			_, errBeside := os.Stat(filepath.Join("..", beside))
			switch {
			case err == nil:
				named[within] = true
			case errBeside == nil && path.Dir(p.dir) != ".":
				named[beside] = true
			default:
				t.Errorf("the map names %s/ at %s, and neither %s nor %s exists", part[1], p.dir, within, beside)
			}
		}
	}
	for _, p := range listed(t) {
		if !named[p.name] {
			t.Errorf("the map of %s does not name %s", readme, p.name)
		}
	}
}

// TestValuesFlowRight: README.md, CONTRIBUTING.md and deps_test.go have the same line, and imports
// keep to it.
func TestValuesFlowRight(t *testing.T) {
	line := regexp.MustCompile(`(?m)diag <- .*$`)
	flow := line.FindString(string(mustRead(t, "deps_test.go")))
	for _, file := range []string{readme, "../CONTRIBUTING.md"} {
		if got := line.FindString(string(mustRead(t, file))); got != flow {
			t.Errorf("%s:\n%s\ndeps_test.go:\n%s", file, got, flow)
		}
	}
	at := map[string]int{}
	for i, names := range strings.Split(flow, " <- ") {
		for name := range strings.SplitSeq(names, ", ") {
			if full := flowing(name); full == "" {
				t.Errorf("the line has %s, which is no package", name)
			} else {
				at[full] = i
			}
		}
	}
	for name, imports := range layers {
		for _, imported := range imports {
			from, ours := at[name]
			to, theirs := at[imported]
			if ours && theirs && to >= from {
				t.Errorf("%s imports %s, which is not to the left of it", name, imported)
			}
		}
	}
}

// flowing is the package that the line calls by its last name.
func flowing(name string) string {
	if name == "main" {
		return "."
	}
	for full := range layers {
		if full == name || full == "model/"+name || full == "model/routing/"+name || full == "providers/"+name {
			return full
		}
	}
	return ""
}

// TestDocumentsNameTheDirectoriesOfTests: of tests that are "in" a linked directory, each is in it.
func TestDocumentsNameTheDirectoriesOfTests(t *testing.T) {
	located := regexp.MustCompile("((?:`(?:Test|Fuzz|Benchmark)\\w+`(?:,|, and| and)?\\s)+)in\\s\\[[^\\]]*\\]\\(([^)#]+)\\)")
	functions := contents(t, "_test.go")
	found := 0
	for file, text := range contents(t, ".md") {
		for _, group := range located.FindAllStringSubmatch(text, -1) {
			dir := filepath.Join(filepath.Dir(file), group[2])
			within := map[string]string{}
			for name, text := range functions {
				if name == dir || strings.HasPrefix(name, dir+"/") {
					within[name] = text
				}
			}
			for _, name := range tests.FindAllStringSubmatch(group[1], -1) {
				found++
				if !defined(within, name[1]) {
					t.Errorf("%s: %s is not in %s", file, name[1], group[2])
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("%d tests are in a linked directory; the expression finds too few", found)
	}
}

// TestEachCommandIsOnTheMap: the line of cli names them.
func TestEachCommandIsOnTheMap(t *testing.T) {
	places := mapOf(t)
	at := slices.IndexFunc(places, func(p place) bool { return p.dir == "cli" })
	if at < 0 {
		t.Fatal("the map has no line of cli")
	}
	commands := regexp.MustCompile("\\[`([a-z-]+)`\\]\\(reference/").FindAllStringSubmatch(string(mustRead(t, "../docs/README.md")), -1)
	if len(commands) < 5 {
		t.Fatalf("docs/README.md lists %d commands; the expression finds too few", len(commands))
	}
	for _, command := range commands {
		if !regexp.MustCompile(`\b` + command[1] + `\b`).MatchString(places[at].about) {
			t.Errorf("the map does not name the command %s", command[1])
		}
	}
}
