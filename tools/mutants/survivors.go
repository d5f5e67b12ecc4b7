package main

import (
	"go/ast"
	"os"
	"path"
	"strings"
)

// This file reads the page that explains survivors: an item of a list each, with the name of the
// mutant, two dashes with spaces around them, and why it may live.

// explanations are the names of the survivors of a package that a page explains.
func explanations(page, pkg string) ([]string, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		item, found := strings.CutPrefix(line, "- ")
		name, why, explained := strings.Cut(item, " -- ")
		file, _, named := strings.Cut(name, " ")
		if found && named && explained && strings.TrimSpace(why) != "" && path.Dir(file) == pkg {
			names = append(names, name)
		}
	}
	return names, nil
}

// functions are the names of a file's functions.
func functions(f *ast.File) map[string]bool {
	out := map[string]bool{}
	for _, d := range f.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
			out[f.Name.Name] = true
		}
	}
	return out
}
