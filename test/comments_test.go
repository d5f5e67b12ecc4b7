package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// This file holds comments on declarations to the form of Go: "Name returns …", "A Name is …".

// isValue matches comments that say of a function that it is a value.
var isValue = regexp.MustCompile(`^\w+ (is|are) (the|a|an|those|all|how|what)\b`)

func TestCommentsBeginWithTheName(t *testing.T) {
	for _, folder := range []string{"api", "cli", "controllers", "model", "providers", "main.go"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !countsAsCode(e.Name()) {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			for _, c := range declared(file) {
				if why := c.problem(); why != "" {
					t.Errorf("%s: the comment on %s %s", set.Position(c.pos), c.name, why)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A declaration is a name with its comment.
type declaration struct {
	name, comment string
	function      bool
	pos           token.Pos
}

// declared returns the declarations of a file that have a comment of their own: functions, types,
// and constants and variables that are declared alone.
func declared(file *ast.File) (out []declaration) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			out = append(out, declaration{d.Name.Name, d.Doc.Text(), true, d.Pos()})
		case *ast.GenDecl:
			if d.Lparen.IsValid() {
				continue
			}
			switch s := d.Specs[0].(type) {
			case *ast.TypeSpec:
				out = append(out, declaration{s.Name.Name, d.Doc.Text(), false, d.Pos()})
			case *ast.ValueSpec:
				out = append(out, declaration{s.Names[0].Name, d.Doc.Text(), false, d.Pos()})
			}
		}
	}
	return out
}

// problem returns what is wrong with a comment; "" if nothing is, or if there is none.
func (d declaration) problem() string {
	text := d.comment
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	switch {
	case text == "":
		return ""
	case !strings.HasPrefix(text, d.name):
		return "does not begin with the name"
	case d.function && isValue.MatchString(text):
		return `says that the function is a value: write "returns", or "reports whether"`
	}
	return ""
}

func TestWhichCommentsHaveAProblem(t *testing.T) {
	for _, c := range []struct {
		declaration
		want bool
	}{
		{declaration{"Key", "Key returns the key.\n", true, 0}, false},
		{declaration{"Key", "Key is the key.\n", true, 0}, true},
		{declaration{"Key", "Key is for the Provider interface.\n", true, 0}, false},
		{declaration{"Key", "", true, 0}, false},
		{declaration{"Key", "Returns the key.\n", true, 0}, true},
		{declaration{"Key", "A Key is a name.\n", false, 0}, false},
		{declaration{"key", "A Key is a name.\n", false, 0}, true},
		{declaration{"keys", "keys are the names.\n", false, 0}, false},
	} {
		if got := c.problem(); (got != "") != c.want {
			t.Errorf("%q of %s: %q", c.comment, c.name, got)
		}
	}
}

// countsAsCode reports whether a file is code that people wrote, and no test.
func countsAsCode(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "zz_generated")
}
