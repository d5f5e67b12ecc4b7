package preflight

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/page"
)

//go:generate go test . -run ^TestAssumptions$ -update

// TestAssumptions writes the page of what is assumed about AWS, and checks that each test is there
// that it names.
func TestAssumptions(t *testing.T) {
	known := map[string]bool{}
	for _, a := range Assumptions {
		if known[a.ID] {
			t.Errorf("%s is there twice", a.ID)
		}
		known[a.ID] = true
		if !slices.Contains([]Consequence{Tolerated, Slower, Unanswered, Refused, Reported, Narrower, Wider}, a.Otherwise) || a.Text == "" || a.Then == "" {
			t.Errorf("%s does not say what happens where it is not so", a.ID)
		}
		if len(a.Tests) == 0 {
			t.Errorf("no test runs %s", a.ID)
		}
		for _, test := range a.Tests {
			if dir, name, _ := strings.Cut(test, " "); !defines(t, dir, name) {
				t.Errorf("%s: there is no test %s", a.ID, test)
			}
		}
	}
	page.Check(t, "../../../docs/contributing/assumptions.md", assumptionsPage())
}

// TestEachAssumptionIsTriedOrNot checks that the trial says of each assumption what came of it, or
// why it is not tried.
func TestEachAssumptionIsTriedOrNot(t *testing.T) {
	known := map[string]bool{}
	for _, a := range Assumptions {
		known[a.ID] = true
		if (tested[a.ID] != nil) == (untestable[a.ID] != "") {
			t.Errorf("%s has to be either tried by the trial or listed as not tried, with why", a.ID)
		}
	}
	for id := range tested {
		if !known[id] {
			t.Errorf("the trial tries %s, which is no assumption", id)
		}
	}
	for id := range untestable {
		if !known[id] {
			t.Errorf("%s is said not to be tried, and is no assumption", id)
		}
	}
}

// defines reports whether a folder of the repository has a test.
func defines(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}

func assumptionsPage() string {
	var b strings.Builder
	fmt.Fprint(&b, `# What is assumed about AWS

Each thing that the provider assumes, where it is from, what happens where it is not so, and the tests that run both. A
source is a document of AWS or a public report; where it says *undocumented*, AWS says nothing about it. Where an assumption
is wrong no request is answered by a rule that is not for it, unless it is **wider**, and no port is open for those who may
not connect.
What has never run on AWS is listed in [unproven.md](unproven.md), with how to run it.

<!-- Generated from providers/aws/preflight/assumptions.go by "make generate". -->

| | Assumption | Source | Otherwise | Tests |
|---|---|---|---|---|
`)
	for _, a := range Assumptions {
		source := "*undocumented*"
		if a.Source != "" {
			source = "[" + short(a.Source) + "](" + a.Source + ")"
		}
		var tests []string
		for _, test := range a.Tests {
			dir, name, _ := strings.Cut(test, " ")
			tests = append(tests, "["+name+"](../../"+dir+")")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | **%s**: %s | %s |\n", a.ID, a.Text, source, a.Otherwise, a.Then, strings.Join(tests, ", "))
	}
	return b.String()
}

// short is the end of an address.
func short(source string) string {
	parts := strings.Split(strings.TrimSuffix(source, ".html"), "/")
	return parts[len(parts)-1]
}
