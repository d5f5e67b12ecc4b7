package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// This file holds the model and the API types to one goroutine: `make race` leaves most of them out
// for that.

// together are what starts goroutines besides the statement: methods by name, and functions of
// packages.
var together = []string{"Go", "AfterFunc"}

func TestTheModelStartsNoGoroutine(t *testing.T) {
	for _, folder := range []string{"../model", "../api/v1alpha1", "../api/provider/v1"} {
		startNone(t, folder)
	}
}

func startNone(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, at := range startsGoroutines(t, path, nil) {
			t.Errorf("%s starts a goroutine: name the package in the Makefile's RACED, and take this rule from it", at)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestGoroutinesAreFound(t *testing.T) {
	for body, found := range map[string]bool{
		"go f()":                           true,
		"var g errgroup.Group; g.Go(f)":    true,
		"time.AfterFunc(time.Second, f)":   true,
		"func() { go func() { f() }() }()": true,
		"f()":                              false,
		"f(Go)":                            false,
	} {
		if got := len(startsGoroutines(t, body, "package p\nfunc _() { "+body+" }")) > 0; got != found {
			t.Errorf("%q: found is %v", body, got)
		}
	}
}

// startsGoroutines are the places of a file that start goroutines.
func startsGoroutines(t *testing.T, path string, source any) (places []string) {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			places = append(places, files.Position(n.Pos()).String())
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(together, f.Sel.Name) {
				places = append(places, files.Position(n.Pos()).String())
			}
		}
		return true
	})
	return places
}
