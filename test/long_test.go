package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"testing"
)

// This file limits the lines of functions. The list of longer ones may only fall.

// longest is how many lines a function may have.
const longest = 60

// long are the functions that are longer, with the most lines that each may have. Flat tables and
// switches over steps stay.
var long = map[string]int{
	"providers/aws/preflight.probes": 135,
	"providers/fake.refuse":          81,
	"providers/prove.listScenarios":  92,
	"providers/wire.DecodeStep":      67,
	"providers/wire.EncodeStep":      64,
}

func TestFunctionsAreShort(t *testing.T) {
	found := map[string]bool{}
	for _, folder := range []string{"api", "cli", "controllers", "model", "providers"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !countsAsCode(e.Name()) {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			pkg, err := filepath.Rel("..", filepath.Dir(path))
			for name, lines := range linesOfFunctions(set, file) {
				name = pkg + "." + name
				if lines <= longest {
					continue
				}
				found[name] = true
				if lines > max(long[name], longest) {
					t.Errorf("%s has %d lines, and %d are the most: divide it", name, lines, max(long[name], longest))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range long {
		if !found[name] {
			t.Errorf("%s has at most %d lines by now, or is gone: delete its line here", name, longest)
		}
	}
}

// linesOfFunctions returns the lines of each function and method of a file.
func linesOfFunctions(set *token.FileSet, file *ast.File) map[string]int {
	out := map[string]int{}
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is {
			lines := set.Position(f.End()).Line - set.Position(f.Pos()).Line + 1
			out[f.Name.Name] = max(out[f.Name.Name], lines)
		}
	}
	return out
}
