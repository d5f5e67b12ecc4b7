package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// This file holds the Makefile's patterns to the names of tests: one that is renamed would leave the race detector.

var (
	variableLine = regexp.MustCompile(`(?m)^([A-Z]+) := (.*)$`)
	patternUse   = regexp.MustCompile(`-(?:run|skip) '\$\(([A-Z]+)\)' \./([a-z/]+)`)
	testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	// alternatives are the inmost ones of a pattern, with what is around them.
	alternatives = regexp.MustCompile(`^((?:.*\()?)([^()]*)((?:\).*)?)$`)
)

func TestEachPatternOfTestsInTheMakefileMatchesATest(t *testing.T) {
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{} // of tests, by the pattern that picks from them
	for _, use := range patternUse.FindAllStringSubmatch(string(text), -1) {
		names[use[1]] = append(names[use[1]], testsIn(t, filepath.Join("..", use[2]))...)
	}
	if len(names) < 3 {
		t.Errorf("%d patterns are found: the test reads too little", len(names))
	}
	patterns := variablesOf(string(text))
	for variable, tests := range names {
		for _, pattern := range partsOf(patterns[variable]) {
			if !slices.ContainsFunc(tests, regexp.MustCompile(pattern).MatchString) {
				t.Errorf("%s of the Makefile has %q, and no test has that name: write its new one", variable, pattern)
			}
		}
	}
}

// variablesOf returns the values of a Makefile's variables, which can have their earlier values in them.
func variablesOf(makefile string) map[string]string {
	out := map[string]string{}
	for _, line := range variableLine.FindAllStringSubmatch(makefile, -1) {
		value := strings.ReplaceAll(line[2], "$("+line[1]+")", out[line[1]])
		out[line[1]] = strings.ReplaceAll(value, "$$", "$")
	}
	return out
}

// partsOf returns a pattern once for each of its alternatives.
func partsOf(pattern string) (parts []string) {
	m := alternatives.FindStringSubmatch(pattern)
	for part := range strings.SplitSeq(m[2], "|") {
		parts = append(parts, m[1]+part+m[3])
	}
	return parts
}

func testsIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, function := range testFunction.FindAllStringSubmatch(string(text), -1) {
			names = append(names, function[1])
		}
	}
	return names
}

func TestPartsOfPatterns(t *testing.T) {
	patterns := variablesOf("A := x|y\nB := p\nB := $(B)|q\nB := ^Test($(B)|r)$$\n")
	for variable, want := range map[string][]string{"A": {"x", "y"}, "B": {"^Test(p)$", "^Test(q)$", "^Test(r)$"}} {
		if got := partsOf(patterns[variable]); !slices.Equal(got, want) {
			t.Errorf("%s is %q, and has the parts %q, want %q", variable, patterns[variable], got, want)
		}
	}
}
