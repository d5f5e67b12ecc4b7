package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// This file runs tests on one mutant after the other: for each, those tests that come by its place.

// A test is one function of a binary, or a subtest of one.
type test struct {
	binary, dir, name string
	sub               string // "" for all of the function
	takes             time.Duration
}

// beside reports whether one run of a binary can be of both.
func (t *test) beside(o *test) bool {
	return t.binary == o.binary && (t.sub == "") == (o.sub == "") && (t.sub == "" || t.name == o.name)
}

// pattern is the expression for some tests that are beside each other.
func pattern(tests []*test) string {
	var names, subs []string
	for _, t := range tests {
		names, subs = append(names, regexp.QuoteMeta(t.name)), append(subs, regexp.QuoteMeta(t.sub))
	}
	slices.Sort(names)
	out := "^(" + strings.Join(slices.Compact(names), "|") + ")$"
	if tests[0].sub != "" {
		out += "/^(" + strings.Join(subs, "|") + ")$"
	}
	return out
}

// A hunt knows which tests come by which mutant.
type hunt struct {
	tests map[int][]*test
	quick time.Duration // tests that take longer are left out; 0 for none
	log   io.Writer
}

// slack is what a test may take beyond ten times what it takes without a mutant, which may have it
// wait for ever.
const slack = 10 * time.Second

// scout runs each test without a mutant, and notes which ones it comes by. A test that fails so is
// left out.
func (h *hunt) scout(ctx context.Context, tests []*test, met string) error {
	h.tests = map[int][]*test{}
	for _, t := range tests {
		if err := os.WriteFile(met, nil, 0o600); err != nil {
			return err
		}
		limit := 10 * time.Minute
		if h.quick > 0 {
			limit = h.quick
		}
		began := time.Now()
		if out, err := t.run(ctx, limit, []*test{t}, "MUTANTS_MET="+met); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if h.quick > 0 && time.Since(began) >= h.quick {
				fmt.Fprintf(h.log, "%s takes more than %s, and is left out\n", t, h.quick)
				continue
			}
			fmt.Fprintf(h.log, "%s fails without a mutant, and is left out: %s\n", t, lastLines(out))
			continue
		}
		t.takes = time.Since(began)
		text, err := os.ReadFile(met)
		if err != nil {
			return err
		}
		for _, line := range strings.Fields(string(text)) {
			n, err := strconv.Atoi(line)
			if err != nil {
				return fmt.Errorf("reading which mutants %s comes by: %w", t.name, err)
			}
			h.tests[n] = append(h.tests[n], t)
		}
	}
	for _, met := range h.tests {
		slices.SortStableFunc(met, func(a, b *test) int { return cmp.Compare(a.takes, b.takes) })
	}
	return nil
}

// kills reports whether a test fails on a mutant, or does not end. The quick ones run first.
func (h *hunt) kills(ctx context.Context, n int) (bool, error) {
	tests := h.tests[n]
	for len(tests) > 0 {
		batch, takes := 0, time.Duration(0)
		for batch < len(tests) && tests[batch].beside(tests[0]) && (batch == 0 || takes+tests[batch].takes < 2*time.Second) {
			takes += tests[batch].takes
			batch++
		}
		_, failure := tests[0].run(ctx, 10*takes+slack, tests[:batch], "MUTANT="+strconv.Itoa(n))
		if failure != nil || ctx.Err() != nil {
			return true, ctx.Err()
		}
		tests = tests[batch:]
	}
	return false, nil
}

// all runs the tests on as many mutants at a time as there are processors, and returns of each
// whether it lives. Each that does is told at once: the whole takes long.
func (h *hunt) all(ctx context.Context, mutants int, wanted func(int) bool, told func(int)) ([]bool, error) {
	lives, errs := make([]bool, mutants), make([]error, mutants)
	var telling sync.Mutex
	turns := make(chan int)
	var workers sync.WaitGroup
	for range runtime.NumCPU() {
		workers.Go(func() {
			for n := range turns {
				dies, err := h.kills(ctx, n)
				lives[n], errs[n] = !dies && err == nil, err
				if lives[n] {
					telling.Lock()
					told(n)
					telling.Unlock()
				}
			}
		})
	}
	for n := range mutants {
		if wanted(n) && len(h.tests[n]) > 0 {
			turns <- n
		}
	}
	close(turns)
	workers.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return lives, errors.Join(errs...)
}

// run runs some tests of one binary.
func (t *test) run(ctx context.Context, limit time.Duration, tests []*test, variable string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	run := exec.CommandContext(ctx, t.binary, "-test.failfast", "-test.run", pattern(tests))
	run.Dir, run.WaitDelay = t.dir, time.Second
	run.Env = append(os.Environ(), variable)
	out, err := run.CombinedOutput()
	return string(out), err
}

func (t *test) String() string { return strings.TrimSuffix(t.name+"/"+t.sub, "/") }

// testsOf are the tests of a binary.
func testsOf(ctx context.Context, tree, pkg, binary string) ([]*test, error) {
	dir := filepath.Join(tree, pkg)
	list := exec.CommandContext(ctx, binary, "-test.list", "^Test")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the tests of %s: %w", pkg, err)
	}
	var tests []*test
	for _, name := range strings.Fields(string(out)) {
		t := &test{binary: binary, dir: dir, name: name}
		if !slices.Contains(split, name) {
			tests = append(tests, t)
			continue
		}
		parts, err := t.parts(ctx)
		if err != nil {
			return nil, err
		}
		tests = append(tests, parts...)
	}
	return tests, nil
}

// passed is what a test binary says of a subtest.
var passed = regexp.MustCompile(`(?m)^    --- PASS: [^/ ]+/([^/ ]+) `)

// parts are the subtests of a test that pass, each as a test of its own.
func (t *test) parts(ctx context.Context) ([]*test, error) {
	run := exec.CommandContext(ctx, t.binary, "-test.v", "-test.run", pattern([]*test{t}))
	run.Dir = t.dir
	out, _ := run.CombinedOutput() // it fails where one of them does, which is left out
	found := passed.FindAllStringSubmatch(string(out), -1)
	if len(found) == 0 {
		return nil, fmt.Errorf("listing the subtests of %s: none passes: %s", t, lastLines(string(out)))
	}
	var parts []*test
	for _, sub := range found {
		parts = append(parts, &test{binary: t.binary, dir: t.dir, name: t.name, sub: sub[1]})
	}
	return parts, nil
}

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], " | ")
}

// errSurvivors says that some mutants live without a reason.
var errSurvivors = errors.New("mutants survive")
