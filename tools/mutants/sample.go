package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// This file tries some mutants that are drawn at random: as many as a presubmit has time for. Most
// of the time goes into building and scouting, so they are of a few packages.

// packagesOfSample is of how many packages the mutants of a sample are, if these have so many.
const packagesOfSample = 3

// A drawn is a package of a sample, and which of its mutants are tried.
type drawn struct {
	pkg     string
	suite   suite
	mutants []string // by name
}

// runSample tries mutants that are drawn at random. It
// fails if one survives. All tests run on those that the quick ones do not find.
func runSample(ctx context.Context, tree string, c choice, packages []string, out io.Writer) error {
	for c.seed == 0 {
		c.seed = rand.Uint64()
	}
	fmt.Fprintf(out, "the seed of the sample is %d\n", c.seed)
	began := time.Now()
	sample, err := draw(tree, c, packages)
	if err != nil {
		return err
	}
	var survivors []string
	tried, all := 0, 0
	for i, d := range sample {
		over := func() bool { return i > 0 && time.Since(began) >= c.within }
		all += len(d.mutants)
		if over() {
			continue
		}
		n, more, err := d.survive(ctx, tree, c, over, out)
		if err != nil {
			return err
		}
		tried, survivors = tried+n, append(survivors, more...)
	}
	fmt.Fprintf(out, "of %d mutants %d were tried within %s, and %d survive\n", all, tried, time.Since(began).Round(time.Second), len(survivors))
	if tell(out, survivors) {
		return errSurvivors
	}
	return nil
}

// draw draws mutants at random. A package with more of them is drawn more often.
func draw(tree string, c choice, packages []string) ([]drawn, error) {
	var of []drawn
	var all []int // for each mutant, the place of its package in of
	for _, pkg := range packages {
		d, err := candidates(tree, c, pkg)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.Repeat([]int{len(of)}, len(d.mutants))...)
		of = append(of, d)
	}
	random := rand.New(rand.NewPCG(c.seed, 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var sample []drawn
	had := map[int]bool{}
	for _, i := range all {
		if had[i] || c.sample <= 0 {
			continue
		}
		had[i] = true
		d := of[i]
		random.Shuffle(len(d.mutants), func(i, j int) { d.mutants[i], d.mutants[j] = d.mutants[j], d.mutants[i] })
		share := max(1, c.sample/max(1, packagesOfSample-len(sample)))
		d.mutants = d.mutants[:min(len(d.mutants), share)]
		c.sample -= len(d.mutants)
		sample = append(sample, d)
	}
	return sample, nil
}

// candidates are the mutants of a package that are to be killed.
func candidates(tree string, c choice, pkg string) (drawn, error) {
	s, err := suiteOf(tree, pkg)
	if err != nil {
		return drawn{}, err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return drawn{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	n := newNest(tree, pkg, dir)
	if err := n.write(nil); err != nil {
		return drawn{}, err
	}
	d := drawn{pkg: pkg, suite: s}
	for i, name := range numbered(n.mutants) {
		if i > 0 && c.has(name) {
			d.mutants = append(d.mutants, name)
		}
	}
	return d, nil
}

// survive tries the mutants of a package until the time is over. It returns how many were tried,
// and those that survive.
func (d drawn) survive(ctx context.Context, tree string, c choice, over func() bool, out io.Writer) (tried int, survivors []string, err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	nest, h, err := prepare(ctx, tree, d.pkg, dir, c.quick, d.suite, out)
	if err != nil {
		return 0, nil, err
	}
	names := numbered(nest.mutants)
	begun := func(yield func(int) bool) {
		for n, name := range names {
			if n > 0 && slices.Contains(d.mutants, name) && (over() || !yield(n)) {
				return
			}
		}
	}
	var counting sync.Mutex
	err = each(ctx, begun, func(n int) error {
		dies, err := h.kills(ctx, n, nest.mutants[n].function)
		for i := 0; err == nil && !dies && i < len(h.all); i++ {
			dies, err = h.slowly(ctx, n, h.all[i])
		}
		counting.Lock()
		defer counting.Unlock()
		if tried++; !dies {
			survivors = append(survivors, names[n])
		}
		return err
	})
	slices.Sort(survivors)
	fmt.Fprintf(out, "%s: %d mutants were tried, %d survive\n", d.pkg, tried, len(survivors))
	return tried, survivors, err
}

// slowly reports whether all tests of a binary, without -short, fail on a mutant, and not without
// one.
func (h *hunt) slowly(ctx context.Context, n int, all *test) (bool, error) {
	if _, _, failure := all.run(ctx, slowest, []*test{all}, "MUTANT="+strconv.Itoa(n)); failure == nil || ctx.Err() != nil {
		return false, ctx.Err()
	}
	out, _, failure := all.run(ctx, slowest, []*test{all}, "MUTANT=")
	if failure != nil {
		h.says("tests of %s fail without a mutant, and are left out: %s", all.dir, lastLines(out))
	}
	return failure == nil, ctx.Err()
}
