// Command mutants changes the code of a package, one place at a time, and runs tests on each
// change. A change that no test fails on is a survivor: the tests do not say that the code is to be
// as it is.
//
//	mutants -tree . model/plan controllers/...
//
// With -sample, a few mutants are tried that are drawn at random, which takes minutes:
//
//	mutants -tree . -sample 60 -within 2m -quick 1s model/plan controllers/...
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	tree := flag.String("tree", ".", "the folder of the module")
	var c choice
	flag.Func("only", "a regular expression for the names of mutants: others are left out", func(text string) (err error) {
		c.only, err = regexp.Compile(text)
		return err
	})
	flag.DurationVar(&c.quick, "quick", 0, "run tests with -short, and leave out those that take longer; 0 leaves out none")
	flag.BoolVar(&c.own, "own", false, "run the tests of the package alone")
	flag.StringVar(&c.by, "by", "", "run the tests of this package alone: model/proof")
	flag.IntVar(&c.sample, "sample", 0, "try so many mutants, drawn at random of a few packages, in place of all")
	flag.Uint64Var(&c.seed, "seed", 0, "the seed of the sample; 0 draws one")
	flag.DurationVar(&c.within, "within", time.Hour, "begin no mutant of the sample after this time, but for those of the first package")
	flag.Parse()
	err := run(ctx, *tree, c, flag.Args(), os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A choice is what is tried of all mutants, and on which tests.
type choice struct {
	only  *regexp.Regexp // nil for all
	quick time.Duration  // tests run with -short, and none that takes longer; 0 for all of them
	own   bool           // tests of the package alone
	by    string         // tests of this package alone; "" for all

	sample int // how many are drawn at random; 0 for all
	seed   uint64
	within time.Duration // of which none begins later, but for those of the first package
}

func (c choice) has(name string) bool { return c.only == nil || c.only.MatchString(name) }

func run(ctx context.Context, tree string, c choice, packages []string, out io.Writer) error {
	tree, err := filepath.Abs(tree)
	if err != nil {
		return err
	}
	packages, err = expand(tree, packages)
	if err != nil {
		return err
	}
	if c.sample > 0 {
		return runSample(ctx, tree, c, packages, out)
	}
	var failed bool
	for _, pkg := range packages {
		s, err := suiteOf(tree, pkg)
		if err != nil {
			return err
		}
		if c.own {
			s.tests = slices.DeleteFunc(s.tests, func(t string) bool { return t != pkg })
		}
		if c.by != "" {
			s.tests = slices.DeleteFunc(s.tests, func(t string) bool { return t != c.by })
		}
		survivors, err := survive(ctx, tree, pkg, c, s, out)
		if err != nil {
			return err
		}
		failed = tell(out, survivors) || failed
	}
	if failed {
		return errSurvivors
	}
	return nil
}

// survive returns the mutants of a package that no test fails on, of those that a test comes by.
func survive(ctx context.Context, tree, pkg string, c choice, s suite, out io.Writer) ([]string, error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	nest, h, err := prepare(ctx, tree, pkg, dir, c.quick, s, out)
	if err != nil {
		return nil, err
	}
	names := numbered(nest.mutants)
	wanted := func(n int) bool { return n > 0 && c.has(names[n]) }
	lives, err := h.try(ctx, nest.mutants, names, wanted)
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

// prepare builds the tests of a package with its mutants, and finds out which come by which.
func prepare(ctx context.Context, tree, pkg, dir string, quick time.Duration, s suite, out io.Writer) (*nest, *hunt, error) {
	nest, binaries, err := breed(ctx, tree, pkg, dir, s.tests)
	if err != nil {
		return nil, nil, err
	}
	h := &hunt{log: out, quick: quick}
	var tests []*test
	for i, binary := range binaries {
		more, err := testsOf(ctx, tree, s.tests[i], binary, quick > 0)
		if err != nil {
			return nil, nil, err
		}
		tests = append(tests, more...)
		h.all = append(h.all, &test{binary: binary, dir: filepath.Join(tree, s.tests[i]), name: "."})
	}
	return nest, h, h.scout(ctx, tests, dir)
}

// numbered are the names of mutants. Of those that are alike in a function, the later ones have a
// number.
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

// tell prints survivors, and reports whether there are any.
func tell(out io.Writer, survivors []string) bool {
	for _, s := range survivors {
		fmt.Fprintf(out, "survives: %s\n", s)
	}
	return len(survivors) > 0
}
