package test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/page"
)

// This file keeps docs/architecture.md: the picture of the packages is made from their imports, and
// each function that the page names is in the file that it links.

const architecture = "../docs/architecture.md"

//go:generate go test . -run ^TestReference$ -update

func TestReference(t *testing.T) {
	const begin, end = "<!-- packages: begin -->\n", "<!-- packages: end -->"
	text, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the packages", architecture)
	}
	page.Check(t, architecture, before+begin+"\n"+floors(listed(t))+"\n"+end+after)
}

// floors lists packages with the first sentences of their documentation. A package is on the floor
// above the highest one that it imports; the highest floor comes first.
func floors(packages []listedPackage) string {
	byName := map[string]listedPackage{}
	for _, p := range packages {
		byName[p.name] = p
	}
	floor := map[string]int{}
	var floorOf func(name string) int
	floorOf = func(name string) int {
		if floor[name] == 0 {
			floor[name] = 1
			for _, imported := range byName[name].ours() {
				floor[name] = max(floor[name], 1+floorOf(imported))
			}
		}
		return floor[name]
	}
	for name := range byName {
		floorOf(name)
	}
	var out strings.Builder
	out.WriteString("```\n")
	for at := slices.Max(slices.Collect(maps.Values(floor))); at > 0; at-- {
		fmt.Fprintf(&out, "floor %d\n", at)
		for _, name := range slices.Sorted(maps.Keys(floor)) {
			if floor[name] != at {
				continue
			}
			said, _, _ := strings.Cut(strings.TrimSuffix(byName[name].Doc, "."), ": ")
			said = strings.TrimPrefix(strings.TrimPrefix(said, "Package "+path.Base(name)+" "), "is ")
			fmt.Fprintf(&out, "  %-24s %s\n", strings.ReplaceAll(name, ".", "main.go"), said)
		}
	}
	out.WriteString("```\n")
	return out.String()
}

// ours are the packages of the module that a package imports.
func (p listedPackage) ours() []string {
	var out []string
	for _, path := range p.Imports {
		if name, ours := within(path, module); ours {
			out = append(out, name)
		}
	}
	return out
}

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
		file, err := os.ReadFile(strings.TrimPrefix(name[2], ""))
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
