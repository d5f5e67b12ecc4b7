package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
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
	binary, dir, name string        // the name "." is all tests of the binary
	sub               string        // "" for all of the function
	short             bool          // runs with -short
	takes             time.Duration // of processors, without the start of its binary
	lasts             time.Duration // with it, and with what else keeps the machine busy
}

// beside reports whether one run of a binary can be of both.
func (t *test) beside(o *test) bool {
	return t.binary == o.binary && (t.sub == "") == (o.sub == "") && (t.sub == "" || t.name == o.name)
}

// pattern is the expression for some tests that are beside each other.
func pattern(tests []*test) string {
	if tests[0].name == "." {
		return "."
	}
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
	noting sync.Mutex
	tests  map[int][]*test
	quick  time.Duration // tests that take longer are left out; 0 for none
	all    []*test       // all tests of each binary, not -short
	log    io.Writer
	write  sync.Mutex // of the log
	failed
}

// says writes a line to the log.
func (h *hunt) says(format string, values ...any) {
	h.write.Lock()
	defer h.write.Unlock()
	fmt.Fprintf(h.log, format+"\n", values...)
}

// failed counts the failures of tests on the mutants of each function: what found one mutant of a
// function often finds the next.
type failed struct {
	mutex sync.Mutex
	by    map[string]map[string]int // by function and test
}

// of counts a failure of each test that an output names.
func (f *failed) of(function string, tests []*test, out string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, t := range tests {
		if len(tests) == 1 || strings.Contains(out, "--- FAIL: "+t.String()+" (") {
			if f.by == nil {
				f.by = map[string]map[string]int{}
			}
			if f.by[function] == nil {
				f.by[function] = map[string]int{}
			}
			f.by[function][t.key()]++
		}
	}
}

// first returns the tests with those before the others that failed most often.
func (f *failed) first(function string, tests []*test) []*test {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	by := f.by[function]
	return slices.SortedStableFunc(slices.Values(tests), func(a, b *test) int { return cmp.Compare(by[b.key()], by[a.key()]) })
}

// slack is what a test may take beyond ten times what it lasts without a mutant, which may have it
// wait for ever.
const slack = 10 * time.Second

// slowest is what a test may take without a mutant.
const slowest = 10 * time.Minute

// scout runs each test without a mutant, and notes which ones it comes by. A test that fails so is
// left out.
func (h *hunt) scout(ctx context.Context, tests []*test, dir string) error {
	h.tests = map[int][]*test{}
	start, err := starts(ctx, tests)
	if err != nil {
		return err
	}
	err = each(ctx, slices.Values(tests), func(t *test) error {
		mutants, err := h.meets(ctx, t, start[t.binary], dir)
		h.noting.Lock()
		defer h.noting.Unlock()
		for _, n := range mutants {
			h.tests[n] = append(h.tests[n], t)
		}
		return err
	})
	for _, met := range h.tests {
		slices.SortStableFunc(met, func(a, b *test) int { return cmp.Or(cmp.Compare(a.takes, b.takes), cmp.Compare(a.key(), b.key())) })
	}
	return err
}

// starts returns how long the binary of each test takes without any test.
func starts(ctx context.Context, tests []*test) (map[string]time.Duration, error) {
	start := map[string]time.Duration{}
	for _, t := range tests {
		if _, known := start[t.binary]; known {
			continue
		}
		none := &test{binary: t.binary, dir: t.dir}
		out, takes, err := none.run(ctx, time.Minute, []*test{none}, "MUTANT=")
		if err != nil {
			return nil, fmt.Errorf("running no test of %s: %w: %s", t.dir, err, lastLines(out))
		}
		start[t.binary] = takes
	}
	return start, nil
}

// meets runs a test without a mutant, and returns which ones it comes by: none where it is left out.
func (h *hunt) meets(ctx context.Context, t *test, start time.Duration, dir string) (mutants []int, err error) {
	met, err := os.CreateTemp(dir, "met")
	if err != nil {
		return nil, err
	}
	if err := met.Close(); err != nil {
		return nil, err
	}
	limit := slowest
	if h.quick > 0 {
		limit = 10 * h.quick // of a machine that does more than this
	}
	began := time.Now()
	out, takes, err := t.run(ctx, limit, []*test{t}, "MUTANTS_MET="+met.Name())
	t.takes, t.lasts = max(takes-start, 0), time.Since(began)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case h.quick > 0 && (t.takes > h.quick || t.lasts >= limit):
		h.says("%s takes more than %s, and is left out", t, h.quick)
		return nil, nil
	case err != nil:
		h.says("%s fails without a mutant, and is left out: %s", t, lastLines(out))
		return nil, nil //nolint:nilerr // a test that fails finds no mutants, and the log says so
	}
	text, err := os.ReadFile(met.Name())
	if err != nil {
		return nil, err
	}
	for _, line := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(line)
		if err != nil {
			return nil, fmt.Errorf("reading which mutants %s comes by: %w", t, err)
		}
		mutants = append(mutants, n)
	}
	return mutants, nil
}

// each does something with each of some values, with as many at a time as there are processors.
func each[T any](ctx context.Context, values iter.Seq[T], do func(T) error) error {
	var workers sync.WaitGroup
	turns, errs := make(chan T), make([]error, runtime.NumCPU())
	for i := range errs {
		workers.Go(func() {
			for v := range turns {
				errs[i] = errors.Join(errs[i], do(v))
			}
		})
	}
	for v := range values {
		if ctx.Err() != nil {
			break
		}
		turns <- v
	}
	close(turns)
	workers.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(errs...)
}

// The tests on a mutant run in batches, of which each may take four times as long as the one before.
const (
	firstBatch = 50 * time.Millisecond
	lastBatch  = 2 * time.Second
)

// kills reports whether a test fails on a mutant, or does not end. Those run first that failed on
// others of its function, then the quick ones.
func (h *hunt) kills(ctx context.Context, n int, function string) (bool, error) {
	tests := h.first(function, h.tests[n])
	for most := firstBatch; len(tests) > 0; most = min(4*most, lastBatch) {
		var batch, rest []*test
		var takes, lasts time.Duration
		for i, t := range tests {
			if i > 0 && (!t.beside(tests[0]) || takes+t.takes > most) {
				rest = append(rest, t)
				continue
			}
			batch, takes, lasts = append(batch, t), takes+t.takes, lasts+t.lasts
		}
		out, _, failure := tests[0].run(ctx, 10*lasts+slack, batch, "MUTANT="+strconv.Itoa(n))
		if failure != nil && ctx.Err() == nil {
			h.of(function, batch, out)
		}
		if failure != nil || ctx.Err() != nil {
			return true, ctx.Err()
		}
		tests = rest
	}
	return false, nil
}

// try runs the tests on mutants, and returns of each whether it lives. Each that does is reported at
// once: the whole takes long.
func (h *hunt) try(ctx context.Context, mutants []mutant, names []string, wanted func(int) bool) ([]bool, error) {
	lives := make([]bool, len(mutants))
	tried := func(yield func(int) bool) {
		for n := range mutants {
			if wanted(n) && len(h.tests[n]) > 0 && !yield(n) {
				return
			}
		}
	}
	err := each(ctx, tried, func(n int) error {
		dies, err := h.kills(ctx, n, mutants[n].function)
		if lives[n] = !dies && err == nil; lives[n] {
			h.says("%s:%d: %s", mutants[n].file, mutants[n].line, names[n])
		}
		return err
	})
	return lives, err
}

// run runs some tests of one binary, and returns what it prints and which time of processors it takes.
func (t *test) run(ctx context.Context, limit time.Duration, tests []*test, variable string) (string, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	run := exec.CommandContext(ctx, t.binary, "-test.failfast", "-test.run", pattern(tests), fmt.Sprintf("-test.short=%t", t.short))
	run.Dir, run.WaitDelay = t.dir, time.Second
	run.Env = append(os.Environ(), variable)
	out, err := run.CombinedOutput()
	if run.ProcessState == nil {
		return string(out), 0, err
	}
	return string(out), run.ProcessState.UserTime() + run.ProcessState.SystemTime(), err
}

// key tells a test from those of other binaries.
func (t *test) key() string { return t.binary + " " + t.String() }

func (t *test) String() string { return strings.TrimSuffix(t.name+"/"+t.sub, "/") }

// testsOf are the tests of a binary.
func testsOf(ctx context.Context, tree, pkg, binary string, short bool) ([]*test, error) {
	dir := filepath.Join(tree, pkg)
	list := exec.CommandContext(ctx, binary, "-test.list", cmp.Or(quickOf[pkg], "^Test"))
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the tests of %s: %w", pkg, err)
	}
	var tests []*test
	for _, name := range strings.Fields(string(out)) {
		t := &test{binary: binary, dir: dir, name: name, short: short}
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
		parts = append(parts, &test{binary: t.binary, dir: t.dir, name: t.name, sub: sub[1], short: t.short})
	}
	return parts, nil
}

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], " | ")
}

// errSurvivors says that some mutants live without a reason.
var errSurvivors = errors.New("mutants survive")
