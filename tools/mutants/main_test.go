package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The code has a place for each kind of mutant. Its tests say something of the first function and of
// the last, and come by the second. One subtest fails without a mutant, and is left out.
const code = `package shop

const limit = 2 + 1

func Price(n int, member, staff bool) (price int) {
	price = n * 10
	if n > limit && (member || staff) {
		price--
	}
	switch {
	case n < 0:
		return 0
	}
	return price
}

func Note(n int) (notes []int) {
	for i := 0; i < n; i++ {
		if i == 1 {
			continue
		}
		notes = append(notes, i+1)
	}
	return notes
}

func Open() bool { return true }

func Times(n int) (times int) {
	if n > 0 {
		times = n
	}
	return times
}
`

const tests = `package shop

import "testing"

func TestPrice(t *testing.T) {
	for _, c := range []struct {
		n             int
		member, staff bool
		want          int
	}{{3, true, true, 30}, {4, true, false, 39}, {4, false, true, 39}, {4, false, false, 40}, {0, true, true, 0}, {-1, false, false, 0}} {
		if got := Price(c.n, c.member, c.staff); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestNote(t *testing.T) { Note(3) }

func TestTimes(t *testing.T) {
	for times, want := range map[string]int{"once": 3, "never": 0} {
		t.Run(times, func(t *testing.T) {
			if got := Times(want); got != want {
				t.Errorf("%d", got)
			}
		})
	}
	t.Run("broken", func(t *testing.T) { t.Error("it fails without a mutant") })
}
`

// shop returns a tree with this code and these tests.
func shop(t *testing.T) (tree string) {
	t.Helper()
	tree = t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module shop\n\ngo 1.26.0\n", "shop/shop.go": code, "shop/shop_test.go": tests,
	} {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := split
	t.Cleanup(func() { split = before })
	split = []string{"TestTimes"}
	return tree
}

// surviving are the mutants of the shop that survive.
var surviving = []string{
	"Price: move the limit of `n < 0`",
	"Note: negate `i == 1`", "Note: move the limit of `i < n`", "Note: leave out `continue`", "Note: leave out `notes = append(notes, i+1)`", "Note: leave out the number of `i+1`",
	"Open: return not true", "Times: move the limit of `n > 0`",
}

func TestSurvivorsAreWhatNoTestFailsOn(t *testing.T) {
	tree := shop(t)
	var said strings.Builder
	if err := run(t.Context(), tree, choice{}, []string{"./..."}, &said); !errors.Is(err, errSurvivors) {
		t.Errorf("there are survivors, and it ends with %v", err)
	}
	var found []string
	for line := range strings.Lines(said.String()) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "survives: shop/shop.go "); ok {
			found = append(found, name)
		}
	}
	if !slices.Equal(slices.Sorted(slices.Values(found)), slices.Sorted(slices.Values(surviving))) {
		t.Errorf("it says\n%s\nof which %q survive, want %q", &said, found, surviving)
	}
	if !strings.Contains(said.String(), "shop.go:27: shop/shop.go Open: return not true: no test comes by") {
		t.Errorf("it does not say where no test comes by: %s", &said)
	}
	if text, err := os.ReadFile(filepath.Join(tree, "shop", "shop.go")); err != nil || string(text) != code {
		t.Errorf("the code was changed: %v", err)
	}
}

// lines returns the lines of a text in order, without how long something took.
func lines(text string) string {
	all := strings.Split(regexp.MustCompile("within [^,]*,").ReplaceAllString(text, ""), "\n")
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// A sample has some of the mutants, the same ones for a seed, and none that
// begins after its time but for those of the first package.
func TestASampleIsSomeMutants(t *testing.T) {
	tree := shop(t)
	if err := os.MkdirAll(filepath.Join(tree, "bar"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"bar/bar.go":      "package bar\n\nfunc Open() bool { return true }\n",
		"bar/bar_test.go": "package bar\n\nimport \"testing\"\n\nfunc TestOpen(t *testing.T) {\n\tif !Open() {\n\t\tt.Error()\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		choice
		tried, survive string
	}{
		"all of them":                  {choice{sample: 99, within: time.Hour, seed: 1}, "of 19 mutants 19 were tried", "and 8 survive"},
		"all tests are slow":           {choice{sample: 99, within: time.Hour, seed: 1, quick: 1}, "of 19 mutants 19 were tried", "and 18 survive"},
		"a share of those of each":     {choice{sample: 6, within: time.Hour, seed: 1}, "of 3 mutants 3 were tried", ""},
		"the second begins after time": {choice{sample: 99, seed: 1}, "of 19 mutants 18 were tried", ""},
		"a draw":                       {choice{sample: 1, within: time.Hour}, "of 1 mutants 1 were tried", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var said, again strings.Builder
			err := run(t.Context(), tree, c.choice, []string{"./..."}, &said)
			survives := strings.Contains(said.String(), "survives: ")
			if !strings.Contains(said.String(), c.tried) || !strings.Contains(said.String(), c.survive) || errors.Is(err, errSurvivors) != survives {
				t.Errorf("it says\n%s\nwant %q and %q, and ends with %v", &said, c.tried, c.survive, err)
			}
			if c.seed != 0 {
				return
			}
			seed, _, _ := strings.Cut(strings.TrimPrefix(said.String(), "the seed of the sample is "), "\n")
			c.seed, _ = strconv.ParseUint(seed, 10, 64)
			_ = run(t.Context(), tree, c.choice, []string{"./..."}, &again)
			if lines(said.String()) != lines(again.String()) {
				t.Errorf("with one seed it says\n%s\nand\n%s", &said, &again)
			}
		})
	}
}

// What is logged, and when, is not changed; what is done besides is.
func TestLinesOfTheLogAreNotChanged(t *testing.T) {
	for statement, want := range map[string][]string{
		`logger.Info("a")`:                         nil,
		`log.FromContext(ctx).Error(err, "a")`:     nil,
		`if err != nil { logger.Error(err, "a") }`: nil,
		`if a && b { logger.Info("a") }`:           nil,
		`if a := n > 0; a { logger.Info("a") }`:    {"negate `n > 0`", "move the limit of `n > 0`"},
		`http.Error(w, "a", 400)`:                  {"leave out `http.Error(w, \"a\", 400)`"},
		`if a { http.Error(w, "a", 400) }`:         {"negate `a`", "leave out `http.Error(w, \"a\", 400)`"},
		`if a { logger.Info("a"); do() }`:          {"negate `a`", "leave out `do()`"},
		`if a { logger.Info("a") } else { do() }`:  {"negate `a`", "leave out `do()`"},
		`if a { panic("a") }`:                      {"negate `a`"},
	} {
		_, mutants, err := rewrite("a.go", []byte("package a\n\nfunc F() { "+statement+" }\n"), 1, nil)
		var got []string
		for _, m := range mutants {
			got = append(got, m.change)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: the changes are %q, want %q, error %v", statement, got, want, err)
		}
	}
}

// A pattern stands for the packages in a folder, without tests and what only tests use.
func TestWhichPackagesAreTried(t *testing.T) {
	tree := t.TempDir()
	for _, path := range []string{
		"providers/run.go", "providers/aws/aws.go", "providers/aws/client/gate.go", "providers/empty/a_test.go", "providers/wire/testdata/a.go",
		"providers/fake/fake.go", "providers/fake/under/a.go", "providers/wire/wire.go", "model/model.go",
	} {
		path = filepath.Join(tree, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := expand(tree, []string{"model", "providers/..."})
	if want := []string{"model", "providers", "providers/aws", "providers/aws/client", "providers/wire"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the packages are %q, want %q, error %v", got, want, err)
	}
}

// With -own no tests of other packages run, which find mutants that those of the package do not.
func TestTheTestsOfThePackageAlone(t *testing.T) {
	tree := shop(t)
	for name, text := range map[string]string{
		"door/door.go":      "package door\n\nimport \"shop/shop\"\n\nfunc Open() bool { return shop.Open() }\n",
		"door/door_test.go": "package door\n\nimport \"testing\"\n\nfunc TestOpen(t *testing.T) {\n\tif !Open() {\n\t\tt.Error()\n\t}\n}\n",
	} {
		if err := os.MkdirAll(filepath.Join(tree, "door"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	others["shop"] = []string{"door"}
	t.Cleanup(func() { delete(others, "shop") })
	for _, own := range []bool{true, false} {
		var said strings.Builder
		err := run(t.Context(), tree, choice{own: own, only: regexp.MustCompile("Open")}, []string{"shop"}, &said)
		if errors.Is(err, errSurvivors) != own {
			t.Errorf("own %t: it ends with %v, and says\n%s", own, err, &said)
		}
	}
}

// Tests of a package run on its mutants, and those that are named for it or for a folder it is in.
func TestWhichTestsRun(t *testing.T) {
	for pkg, want := range map[string][]string{
		"model/plan":                 {"model/plan", "model/planner", "providers", "test/golden"},
		"controllers":                {"controllers", "controllers/loadbalancer", "controllers/gather"},
		"controllers/loadbalancer":   {"controllers/loadbalancer", "controllers/gather"},
		"controllers/controllertest": {"controllers/loadbalancer", "controllers/gather"},
		"providers/aws":              {"providers/aws"},
		"providers/aws/client":       {"providers/aws/client", "providers/aws"},
	} {
		s, err := suiteOf("../..", pkg)
		if err != nil || !slices.Equal(s.tests, want) {
			t.Errorf("of %s run %q, want %q, error %v", pkg, s.tests, want, err)
		}
	}
}
