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
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, "_test.go") {
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

// asksForShort notes the functions of a file that ask for -short, and those that call one of them.
func asksForShort(path string, asks map[string]bool) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	var functions []*ast.FuncDecl
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Body != nil {
			functions = append(functions, f)
		}
	}
	helpers := map[string]bool{}
	for range 2 { // a helper may stand below the test that calls it
		for _, f := range functions {
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, is := n.X.(*ast.Ident); is && x.Name == "testing" && n.Sel.Name == "Short" {
						helpers[f.Name.Name] = true
					}
				case *ast.CallExpr:
					if called, is := n.Fun.(*ast.Ident); is && helpers[called.Name] {
						helpers[f.Name.Name] = true
					}
				}
				return true
			})
		}
	}
	for name := range helpers {
		asks[name] = true
	}
	return nil
}
