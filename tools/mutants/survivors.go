package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// This file reads the page that explains survivors: an item of a list each, with the name of the
// mutant, two dashes with spaces around them, and why it may live. An item that is the path of a
// file names one that is not tried.

// A known is an item of the page.
type known struct {
	file, function string
	name           string // of the mutant; "" for a file that is not tried
}

// read reads the items of a page. Each has to be about a file that exists, and a function in it: of
// code that was moved, the page would explain nothing.
func read(tree, page string) (items []known, err error) {
	text, err := os.ReadFile(filepath.Join(tree, page))
	if err != nil {
		return nil, err
	}
	var gone []error
	for line := range strings.Lines(string(text)) {
		item, found := strings.CutPrefix(strings.TrimSpace(line), "- ")
		name, why, _ := strings.Cut(item, " -- ")
		file, change, mutant := strings.Cut(name, " ")
		if !found || !strings.HasSuffix(file, ".go") || mutant && strings.TrimSpace(why) == "" {
			continue
		}
		k := known{file: file}
		if mutant {
			k.name = name
			k.function, _, _ = strings.Cut(change, ":")
		}
		if err := k.exists(tree); err != nil {
			gone = append(gone, fmt.Errorf("%s: %q: %w", page, item, err))
		}
		items = append(items, k)
	}
	return items, errors.Join(gone...)
}

// exists returns an error if the file or the function of an item does not exist.
func (k known) exists(tree string) error {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(tree, k.file), nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	is := func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && nameOf(f) == k.function
	}
	if k.function != "" && !slices.ContainsFunc(file.Decls, is) {
		return fmt.Errorf("%s has no function %s", k.file, k.function)
	}
	return nil
}

// explanations are the names of the survivors of a package that a page explains.
func explanations(items []known, pkg string) (names []string) {
	for _, k := range items {
		if k.name != "" && path.Dir(k.file) == pkg {
			names = append(names, k.name)
		}
	}
	return names
}

// untried are the files that a page names as not tried.
func untried(items []known) (files []string) {
	for _, k := range items {
		if k.name == "" {
			files = append(files, k.file)
		}
	}
	return files
}
