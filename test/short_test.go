package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// This file compares the tests that -short leaves out, or makes smaller, with the list of them in
// CONTRIBUTING.md.

// TestSlowTestsAreListed finds the functions that ask for -short. Each stands in the list with its
// folder, and each test in the list asks for -short.
func TestSlowTestsAreListed(t *testing.T) {
	page, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(page), "`make test` runs with `-short`")
	list, _, ended := strings.Cut(list, "\n## ")
	if !found || !ended {
		t.Fatal("CONTRIBUTING.md has no list of what -short leaves out")
	}
	asks := map[string]bool{}
	for _, folder := range []string{"../cli", "../controllers", "../model", "../providers", "../test", "../tools"} {
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				err = asksForShort(path, asks)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(asks) < 20 {
		t.Fatalf("only %v ask for -short: the test reads too little", asks)
	}
	for name := range asks {
		if strings.HasPrefix(name, "Test") && !strings.Contains(list, "`"+name+"`") {
			t.Errorf("%s asks for -short, and is not in the list of CONTRIBUTING.md", name)
		}
	}
	for _, listed := range regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(list, -1) {
		if name := listed[1]; !asks[name] {
			t.Errorf("CONTRIBUTING.md says that %s is left out or smaller with -short, and it does not ask for it", name)
		}
	}
}

// asksForShort notes the functions in the tests of a folder that ask for -short, and those that call
// one of them.
func asksForShort(folder string, asks map[string]bool) error {
	paths, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return err
	}
	var functions []*ast.FuncDecl
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Body != nil {
				functions = append(functions, f)
			}
		}
	}
	asking := map[string]bool{}
	for range 2 { // a function that asks may stand below the test that calls it
		for _, f := range functions {
			if asksOrCalls(f, asking) {
				asking[f.Name.Name], asks[f.Name.Name] = true, true
			}
		}
	}
	return nil
}

// asksOrCalls reports whether a function calls testing.Short, or one that does.
func asksOrCalls(f *ast.FuncDecl, asking map[string]bool) (does bool) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, is := n.X.(*ast.Ident)
			does = does || is && x.Name == "testing" && n.Sel.Name == "Short"
		case *ast.CallExpr:
			called, is := n.Fun.(*ast.Ident)
			does = does || is && asking[called.Name]
		}
		return true
	})
	return does
}
