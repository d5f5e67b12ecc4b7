package test

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestWhatIsGeneratedHasADirective: where a test compares a file with what is generated, `make
// generate` runs it with -update.
func TestWhatIsGeneratedHasADirective(t *testing.T) {
	directive := regexp.MustCompile(`(?m)^//go:generate go test .*-run (\S+) -update`)
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	comparison := regexp.MustCompile(`page\.Check\(t, `)
	files := contents(t, "_test.go")
	directives := map[string][]*regexp.Regexp{} // what those of a directory run
	for file, text := range files {
		for _, d := range directive.FindAllStringSubmatch(text, -1) {
			directives[filepath.Dir(file)] = append(directives[filepath.Dir(file)], regexp.MustCompile(d[1]))
		}
	}
	found := 0
	for file, text := range files {
		dir := filepath.Dir(file)
		if dir == "../test/policy" || dir == "../test" { // the Makefile runs the first: it is a module of its own
			continue
		}
		for _, at := range comparison.FindAllStringIndex(text, -1) {
			name := ""
			for _, f := range function.FindAllStringSubmatch(text[:at[0]], -1) {
				name = f[1]
			}
			found++
			if !slices.ContainsFunc(directives[dir], func(d *regexp.Regexp) bool { return d.MatchString(name) }) {
				t.Errorf("%s: no directive runs %s with -update", file, name)
			}
		}
	}
	if found < 10 {
		t.Errorf("%d comparisons; too few are found", found)
	}
}
