// Package nightly decides how much is tried: `make nightly` tries everything, and each other run a
// part that it draws anew. Tests whose cases take minutes together ask it.
package nightly

import (
	"cmp"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

var draw = flag.Uint64("draw", 0, "the `seed` of the cases that are tried; 0 draws one")

// Is reports whether everything is tried. The variable does not begin with FAIRLEAD_, as those are settings of the operator.
func Is() bool { return os.Getenv("NIGHTLY") != "" }

// Only skips a test, except at night.
func Only(t testing.TB, why string) {
	t.Helper()
	if !Is() {
		t.Skip(why + ": `make nightly` runs it")
	}
}

// Some returns at most n of a test's cases, in their order, and prints the seed that they were drawn
// with. With -short it returns a quarter of n, or one. At night it returns all.
func Some[T any](t testing.TB, n int, all []T) []T {
	t.Helper()
	if Is() {
		return all
	}
	if testing.Short() {
		n = max(1, n/4)
	}
	if len(all) <= n {
		return all
	}
	seed := cmp.Or(*draw, rand.Uint64()) //nolint:gosec // which cases are tried is no secret
	t.Logf("%d of %d cases are tried, those of -draw %d", n, len(all), seed)
	chosen := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))[:n] //nolint:gosec // as above
	slices.Sort(chosen)
	some := make([]T, n)
	for i, at := range chosen {
		some[i] = all[at]
	}
	return some
}

// Cases returns a test's cases: all of them, and with -short a quarter, or one, which Some draws.
func Cases[T any](t testing.TB, all map[string]T) map[string]T {
	t.Helper()
	some := map[string]T{}
	for _, name := range Some(t, len(all), slices.Sorted(maps.Keys(all))) {
		some[name] = all[name]
	}
	return some
}

// Times returns how often a test draws something: n times, and with -short a quarter of that.
func Times(n int) int {
	if testing.Short() {
		return max(1, n/4)
	}
	return n
}
