package main

import (
	"context"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// This file compiles tests of a package with all its mutants in it. The tree stays as it is: the
// compiler is told to read other files in place of some (go help build, -overlay).

// A nest is a package with its mutants, outside of the tree.
type nest struct {
	tree, pkg string // the module, and the folder of the package in it
	dir       string // where files are written
	mutants   []mutant
	overlay   string
}

func newNest(tree, pkg, dir string) *nest {
	return &nest{tree: tree, pkg: pkg, dir: dir, overlay: filepath.Join(dir, "overlay.json")}
}

// breed rewrites the files of a package, and builds a test binary for each package of tests. What
// does not compile is left out, line by line.
func breed(ctx context.Context, tree, pkg, dir string, tests []string) (*nest, []string, error) {
	n := newNest(tree, pkg, dir)
	refused := map[string]map[int]bool{}
	for range 20 {
		if err := n.write(refused); err != nil {
			return nil, nil, err
		}
		var binaries []string
		var failure string
		for i, test := range tests {
			binary := filepath.Join(dir, fmt.Sprintf("%d.test", i))
			build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", n.overlay, "-o", binary, ".")
			build.Dir = filepath.Join(tree, test) // which may be a module of its own
			if out, err := build.CombinedOutput(); err != nil {
				failure = string(out)
				break
			}
			binaries = append(binaries, binary)
		}
		if failure == "" {
			return n, binaries, nil
		}
		if !refuse(refused, failure) {
			return nil, nil, fmt.Errorf("building tests of %s: %s", pkg, failure)
		}
	}
	return nil, nil, fmt.Errorf("the mutants of %s do not compile", pkg)
}

var complaint = regexp.MustCompile(`(?m)^(?:\S*/)?([^/\s:]+\.go):(\d+):`)

// refuse notes the lines that the compiler complains of, and reports whether one of them is new.
func refuse(refused map[string]map[int]bool, complaints string) (news bool) {
	for _, m := range complaint.FindAllStringSubmatch(complaints, -1) {
		line, _ := strconv.Atoi(m[2])
		if refused[m[1]] == nil {
			refused[m[1]] = map[int]bool{}
		}
		news = news || !refused[m[1]][line]
		refused[m[1]][line] = true
	}
	return news
}

// write writes the files of a package with its mutants, and the list of what they stand in for.
func (n *nest) write(refused map[string]map[int]bool) error {
	n.mutants = []mutant{{}} // no mutant has the number 0
	files, err := filepath.Glob(filepath.Join(n.tree, n.pkg, "*.go"))
	if err != nil {
		return err
	}
	replace, name := map[string]string{}, ""
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		name = parsed.Name.Name
		base := filepath.Base(file)
		if strings.HasPrefix(base, "zz_generated") {
			continue
		}
		out, mutants, err := rewrite(filepath.Join(n.pkg, base), text, len(n.mutants), refused[base])
		if err != nil {
			return err
		}
		n.mutants = append(n.mutants, mutants...)
		if replace[file], err = n.put(base, out); err != nil {
			return err
		}
	}
	if len(n.mutants) > 1<<16 {
		return fmt.Errorf("%s has %d mutants, which is more than are counted", n.pkg, len(n.mutants))
	}
	helper, err := n.put("mutants.go", fmt.Appendf(nil, helpers, name))
	if err != nil {
		return err
	}
	replace[filepath.Join(n.tree, n.pkg, "zz_mutants.go")] = helper
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(n.overlay, text, 0o600)
}

func (n *nest) put(base string, text []byte) (path string, err error) {
	path = filepath.Join(n.dir, base)
	return path, os.WriteFile(path, text, 0o600)
}
