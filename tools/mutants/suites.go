package main

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// This file finds the packages to try, and the tests that run on the mutants of each.

// A suite is which tests run on the mutants of a package.
type suite struct {
	tests []string // packages of tests
}

// others are packages whose tests run besides those of the package itself, by that package or by a
// folder that it is in.
var others = map[string][]string{
	"controllers":   {"controllers/loadbalancer", "controllers/gather"},
	"model/plan":    {"model/planner", "providers", "test/golden"},
	"model/planner": {"providers", "test/golden", "model/proof"},
	"model/proof":   {"model/proof"},
	"providers":     {"providers"},
	"providers/aws": {"providers/aws"},
}

// support are packages that only tests use: a mutant of theirs is a fault of a test.
var support = []string{"controllers/controllertest", "providers/providertest", "providers/fake"}

// split are tests whose subtests are run each by itself: most mutants fail in one of them.
var split = []string{"TestGolden", "TestContract", "TestAnswersThatAreWrong"}

// quickOf are the tests of packages of which the others need an API server.
var quickOf = map[string]string{"controllers": "^TestWiring"}

// suiteOf returns the tests that run on the mutants of a package.
func suiteOf(tree, pkg string) (s suite, err error) {
	own, err := filepath.Glob(filepath.Join(tree, pkg, "*_test.go"))
	if err != nil {
		return suite{}, err
	}
	if len(own) > 0 {
		s.tests = append(s.tests, pkg)
	}
	for at := pkg; at != "."; at = path.Dir(at) {
		if more, named := others[at]; named {
			s.tests = append(s.tests, slices.DeleteFunc(slices.Clone(more), func(t string) bool { return t == pkg })...)
			break
		}
	}
	if len(s.tests) == 0 {
		return suite{}, fmt.Errorf("%s has no tests: name some in tools/mutants/suites.go", pkg)
	}
	return s, nil
}

// sources are the names of the files of a folder that are not tests, and not generated.
func sources(folder string) (names []string, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, file := range files {
		name := filepath.Base(file)
		if !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "zz_generated") {
			names = append(names, name)
		}
	}
	return names, err
}

// expand replaces a folder and /... by the packages in it, without those that only tests use.
func expand(tree string, patterns []string) (packages []string, err error) {
	for _, pattern := range patterns {
		top, all := strings.CutSuffix(pattern, "/...")
		if !all {
			packages = append(packages, pattern)
			continue
		}
		err := filepath.WalkDir(filepath.Join(tree, top), func(at string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return err
			}
			pkg, err := filepath.Rel(tree, at)
			if err != nil {
				return err
			}
			if e.Name() == "testdata" || slices.Contains(support, pkg) {
				return fs.SkipDir
			}
			files, err := sources(at)
			if len(files) > 0 {
				packages = append(packages, pkg)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return packages, nil
}
