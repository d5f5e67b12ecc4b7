// Command mutants changes the code of a package, one place at a time, and runs tests on each change. A change that no test
// fails on is a survivor: the tests do not say that the code is to be as it is.
//
//	mutants -tree . -survivors docs/mutants.md model/plan providers
//
// Survivors that docs/mutants.md explains are known. Any other makes the command fail, as does an explanation of one that
// does not survive any more.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A suite is which tests run on the mutants of a package.
type suite struct {
	tests []string // packages of tests
	// inside leaves out tests from outside of the package: they need a cluster, and take minutes.
	inside bool
}

var suites = map[string]suite{
	"model/plan":    {tests: []string{"model/plan", "providers"}},
	"providers":     {tests: []string{"providers"}},
	"providers/aws": {tests: []string{"providers/aws"}},
	"controllers":   {tests: []string{"controllers"}, inside: true},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	tree := flag.String("tree", ".", "the folder of the module")
	page := flag.String("survivors", "", "the file in it that explains survivors")
	only := flag.String("only", "", "of the files only those whose path has this in it")
	flag.Parse()
	err := run(ctx, *tree, *page, *only, flag.Args(), os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, tree, page, only string, packages []string, out io.Writer) error {
	tree, err := filepath.Abs(tree)
	if err != nil {
		return err
	}
	var failed bool
	for _, pkg := range packages {
		s, known := suites[pkg]
		if !known {
			return fmt.Errorf("no tests are named for %s: name them in tools/mutants/main.go", pkg)
		}
		explained, err := explanations(filepath.Join(tree, page), pkg)
		if err != nil {
			return err
		}
		survivors, err := survive(ctx, tree, pkg, only, s, out)
		if err != nil {
			return err
		}
		if only != "" {
			explained = slices.DeleteFunc(explained, func(e string) bool { return !strings.Contains(strings.Fields(e)[0], only) })
		}
		failed = tell(out, survivors, explained) || failed
	}
	if failed {
		return errSurvivors
	}
	return nil
}

// survive returns the mutants of a package that no test fails on, of those that a test comes by.
func survive(ctx context.Context, tree, pkg, only string, s suite, out io.Writer) ([]string, error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	nest, binaries, err := breed(ctx, tree, pkg, dir, s.tests)
	if err != nil {
		return nil, err
	}
	h := &hunt{log: out}
	var tests []*test
	for i, binary := range binaries {
		more, err := testsOf(ctx, tree, s.tests[i], binary, s.inside)
		if err != nil {
			return nil, err
		}
		tests = append(tests, more...)
	}
	if err := h.scout(ctx, tests, filepath.Join(dir, "met")); err != nil {
		return nil, err
	}
	wanted := func(n int) bool { return n > 0 && strings.Contains(nest.mutants[n].file, only) }
	names := numbered(nest.mutants)
	lives, err := h.all(ctx, len(nest.mutants), wanted, func(n int) {
		fmt.Fprintf(out, "%s:%d: %s\n", nest.mutants[n].file, nest.mutants[n].line, names[n])
	})
	if err != nil {
		return nil, err
	}
	var survivors []string
	unmet, killed := 0, 0
	for n, m := range nest.mutants {
		missed := len(h.tests[n]) == 0
		switch {
		case !wanted(n):
			continue
		case missed && s.inside: // a test that needs a cluster may come by
			unmet++
			continue
		case missed:
			unmet++
			fmt.Fprintf(out, "%s:%d: %s: no test comes by\n", m.file, m.line, names[n])
		case !lives[n]:
			killed++
			continue
		}
		survivors = append(survivors, names[n])
	}
	fmt.Fprintf(out, "%s: %d mutants were killed, %d survived, %d of all are where no test comes by\n", pkg, killed, len(survivors), unmet)
	return survivors, nil
}

// numbered are the names of mutants. Of those that are alike in a function, the later ones have a number.
func numbered(mutants []mutant) []string {
	names, seen := make([]string, len(mutants)), map[string]int{}
	for n, m := range mutants {
		names[n] = m.String()
		if seen[names[n]]++; seen[names[n]] > 1 {
			names[n] += fmt.Sprintf(" (%d)", seen[m.String()])
		}
	}
	return names
}

// tell says which survivors are not explained, and which explanations are of none. It reports whether there are any.
func tell(out io.Writer, survivors, explained []string) (news bool) {
	for _, s := range survivors {
		if !slices.Contains(explained, s) {
			news = true
			fmt.Fprintf(out, "survives, and is not explained: %s\n", s)
		}
	}
	for _, e := range explained {
		if !slices.Contains(survivors, e) {
			news = true
			fmt.Fprintf(out, "is explained, and does not survive: %s\n", e)
		}
	}
	return news
}
