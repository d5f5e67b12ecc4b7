package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// This file limits the width of lines of code, without tests and generated code.

const (
	// widest is how many columns a line may have, with a tab as one.
	widest = 100

	// widestRow is how many columns a row of a flat table may have.
	widestRow = 180

	// fewestRows is how many rows make a flat table.
	fewestRows = 4
)

func TestLinesAreShort(t *testing.T) {
	for _, folder := range []string{"api", "cli", "controllers", "model", "providers", "main.go"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !countsAsCode(e.Name()) {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, line := range tooWide(t, string(text)) {
				t.Errorf("%s:%d has %d columns, and %d are the most", path, line.number, line.width, widest)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A wideLine is a line that has too many columns.
type wideLine struct{ number, width int }

// tooWide returns the lines of a file that have too many columns. A line that cannot be broken may
// have more: a marker of controller-gen, and a line with one word, such as an address. So may the
// tag of a field.
func tooWide(t *testing.T, text string) []wideLine {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	rows := tableRows(files, file)
	var out []wideLine
	number := 0
	for line := range strings.Lines(text) {
		number++
		most := widest
		if rows[number] {
			most = widestRow
		}
		width := utf8.RuneCountInString(strings.TrimRight(line, "\n"))
		if width > most && !unbreakable(line) {
			out = append(out, wideLine{number, width})
		}
	}
	return out
}

// unbreakable reports whether a line is a marker, ends with the tag of a field, or has a word or a
// raw string that is too wide by itself.
func unbreakable(line string) bool {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "// +") || strings.HasPrefix(line, "//go:") || strings.HasPrefix(line, "//nolint:") {
		return true
	}
	words := strings.Fields(strings.TrimPrefix(line, "//"))
	return len(words) == 1 || strings.HasSuffix(line, `"`+"`") && strings.Contains(line, "`json:")
}

// tableRows returns the lines that are rows of flat tables: elements of a literal, or declarations
// of one block, that have a line each.
func tableRows(files *token.FileSet, file *ast.File) map[int]bool {
	out := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		var rows []ast.Node
		switch n := n.(type) {
		case *ast.CompositeLit:
			if isStruct(n) {
				return true
			}
			for _, e := range n.Elts {
				rows = append(rows, e)
			}
		case *ast.GenDecl:
			if n.Tok == token.VAR || n.Tok == token.CONST {
				for _, s := range n.Specs {
					rows = append(rows, s)
				}
			}
		default:
			return true
		}
		addRows(out, files, rows)
		return true
	})
	return out
}

// isStruct reports whether a literal has names of fields.
func isStruct(n *ast.CompositeLit) bool {
	if _, isMap := n.Type.(*ast.MapType); isMap || len(n.Elts) == 0 {
		return false
	}
	kv, keyed := n.Elts[0].(*ast.KeyValueExpr)
	if !keyed {
		return false
	}
	_, named := kv.Key.(*ast.Ident)
	return named
}

// addRows adds the lines that have exactly one of the rows, and nothing else, if these are enough
// for a table.
func addRows(to map[int]bool, files *token.FileSet, rows []ast.Node) {
	on := map[int]int{}
	for _, r := range rows {
		on[files.Position(r.Pos()).Line]++
	}
	var lines []int
	for _, r := range rows {
		first, last := files.Position(r.Pos()).Line, files.Position(r.End()).Line
		if first == last && on[first] == 1 && !isWord(r) {
			lines = append(lines, first)
		}
	}
	if len(lines) < fewestRows {
		return
	}
	for _, line := range lines {
		to[line] = true
	}
}

// isWord reports whether an element is a name or one value: a line of these is a list.
func isWord(n ast.Node) bool {
	if kv, ok := n.(*ast.KeyValueExpr); ok {
		n = kv.Value
	}
	switch n.(type) {
	case *ast.CompositeLit, *ast.CallExpr, *ast.ValueSpec:
		return false
	}
	return true
}

func TestWhichLinesAreTooWide(t *testing.T) {
	long := strings.Repeat("long ", 25)
	row := "\t{" + `"` + long + `"` + "},\n"
	cases := map[string]struct {
		text string
		want int
	}{
		"a comment":              {"// " + long + "\n", 1},
		"an address":             {"// https://" + strings.ReplaceAll(long, " ", "-") + "\n", 0},
		"a marker":               {"// +" + long + "\n", 0},
		"a string":               {"const a = `" + long + "`\n", 1},
		"three rows":             {"var a = []struct{ a string }{\n" + strings.Repeat(row, 3) + "}\n", 3},
		"a table of four rows":   {"var a = []struct{ a string }{\n" + strings.Repeat(row, 4) + "}\n", 0},
		"a row that is too wide": {"var a = []struct{ a string }{\n" + strings.Repeat(row, 3) + strings.ReplaceAll(row, long, long+long) + "}\n", 1},
		"fields":                 {"var a = b{\n" + strings.Repeat("\tc: []string{`"+long+"`},\n", 4) + "}\n", 4},
		"a list":                 {"var a = []string{\n" + strings.Repeat("\t"+`"`+long+`",`+"\n", 4) + "}\n", 4},
	}
	for name, c := range cases {
		if got := tooWide(t, "package a\n\n"+c.text); len(got) != c.want {
			t.Errorf("%s: %d lines are too wide, want %d", name, len(got), c.want)
		}
	}
}
