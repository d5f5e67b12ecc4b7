package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

func TestSurvivorsAreWhatNoTestFailsOn(t *testing.T) {
	tree := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module shop\n\ngo 1.26.0\n", "shop/shop.go": code, "shop/shop_test.go": tests,
		"page.md":      "Explained:\n\n- shop/shop.go Note: negate `i == 1` -- nothing reads the notes\n- shop/shop.go Note: gone -- it was there once\n- shop/shop.go Open: return not true -- \n- shop/till.go\n",
		"shop/till.go": "package shop\n\nfunc Till() bool { return true }\n",
	} {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	defer func(before []string) { split = before }(split)
	split = []string{"TestTimes"}
	var said strings.Builder
	if err := run(t.Context(), tree, "page.md", choice{}, []string{"./..."}, &said); !errors.Is(err, errSurvivors) {
		t.Errorf("there are survivors, and it ends with %v", err)
	}
	var unexplained, needless []string
	for line := range strings.Lines(said.String()) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "survives, and is not explained: shop/shop.go "); ok {
			unexplained = append(unexplained, name)
		}
		if name, ok := strings.CutPrefix(line, "is explained, and does not survive: shop/shop.go "); ok {
			needless = append(needless, name)
		}
	}
	want := []string{
		"Price: move the limit of `n < 0`",
		"Note: move the limit of `i < n`", "Note: leave out `continue`", "Note: leave out `notes = append(notes, i+1)`", "Note: leave out the number of `i+1`",
		"Open: return not true", "Times: move the limit of `n > 0`",
	}
	slices.Sort(unexplained)
	slices.Sort(want)
	if !slices.Equal(unexplained, want) || !slices.Equal(needless, []string{"Note: gone"}) {
		t.Errorf("it says\n%s\nof which %q, want %q, are not explained, and %q needlessly", &said, unexplained, want, needless)
	}
	if strings.Contains(said.String(), "till.go") {
		t.Errorf("a file is tried that is not to be: %s", &said)
	}
	if !strings.Contains(said.String(), "shop.go:27: shop/shop.go Open: return not true: no test comes by") {
		t.Errorf("it does not say where no test comes by: %s", &said)
	}
	if text, err := os.ReadFile(filepath.Join(tree, "shop", "shop.go")); err != nil || string(text) != code {
		t.Errorf("the code was changed: %v", err)
	}
}

// Code that the page is about exists: of what was moved, the page would explain nothing, and files
// that are not tried would be others.
func TestThePageIsAboutCodeThatExists(t *testing.T) {
	if _, err := read("../..", "docs/mutants.md"); err != nil {
		t.Error(err)
	}
	tree := t.TempDir()
	for item, want := range map[string]string{
		"shop.go F: return not true -- a reason":   "",
		"shop.go":                                  "",
		"shop.go T.M: return not true -- a reason": "",
		"shop.go G: return not true -- a reason":   "no function G",
		"moved.go F: return not true -- a reason":  "moved.go",
		"moved.go": "moved.go",
	} {
		for name, text := range map[string]string{
			"page.md": "- " + item + "\n", "shop.go": "package shop\n\ntype T struct{}\n\nfunc F() bool { return true }\nfunc (*T) M() bool { return true }\n",
		} {
			if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := read(tree, "page.md")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", item, err, want)
		}
	}
}

// A pattern stands for the packages in a folder, without tests and what only tests use.
func TestWhichPackagesAreTried(t *testing.T) {
	tree := t.TempDir()
	for _, path := range []string{
		"providers/run.go", "providers/aws/aws.go", "providers/aws/retry/gate.go", "providers/empty/a_test.go", "providers/wire/testdata/a.go",
		"providers/fake/fake.go", "providers/fake/frontend/a.go", "providers/wire/wire.go", "model/model.go",
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
	if want := []string{"model", "providers", "providers/aws", "providers/aws/retry", "providers/wire"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the packages are %q, want %q, error %v", got, want, err)
	}
}

// Tests of a package run on its mutants, and those that are named for it or for a folder it is in.
func TestWhichTestsRun(t *testing.T) {
	for pkg, want := range map[string][]string{
		"model/plan":               {"model/plan", "model/planner", "providers", "test/golden"},
		"controllers":              {"controllers/loadbalancer", "controllers/gather", "controllers/orphans"},
		"controllers/loadbalancer": {"controllers/loadbalancer", "controllers/gather", "controllers/orphans"},
		"controllers/events":       {"controllers/loadbalancer", "controllers/gather", "controllers/orphans"},
		"providers/aws":            {"providers/aws"},
		"providers/aws/retry":      {"providers/aws/retry", "providers/aws"},
	} {
		s, err := suiteOf("../..", pkg)
		if err != nil || !slices.Equal(s.tests, want) {
			t.Errorf("of %s run %q, want %q, error %v", pkg, s.tests, want, err)
		}
	}
}
