package test

import (
	"path/filepath"
	"slices"
	"testing"
)

// This file lists the packages that have no tests of their own. The list may only fall.

// untested are these packages. Tests of other packages use them.
var untested = []string{
	"cli/access",
	"cli/answer",
	"cli/configuration",
	"cli/demo",
	"cli/output",
	"cli/reload",
	"cli/selection",
	"cli/verification",
	"cli/version",
	"controllers/controllertest",
	"controllers/proofs",
	"model/check",
	"model/endpoints",
	"model/ingress/annotations",
	"model/ingress/classes",
	"model/ingress/hostrules",
	"model/ingress/members",
	"model/ingress/objects",
	"model/ingress/placement",
	"model/ingress/snapshots",
	"model/ingress/validate",
	"model/requests",
	"providers/clouds",
	"providers/fake/certificates",
	"providers/fake/frontend",
	"providers/fake/statefile",
}

func TestPackagesHaveTestsOfTheirOwn(t *testing.T) {
	var found []string
	for _, p := range listed(t) {
		tests, err := filepath.Glob(filepath.Join(p.Dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if tests == nil && len(p.GoFiles) > 0 && p.name != "." {
			found = append(found, p.name)
		}
	}
	for _, name := range found {
		if !slices.Contains(untested, name) {
			t.Errorf("%s has no tests of its own", name)
		}
	}
	for _, name := range untested {
		if !slices.Contains(found, name) {
			t.Errorf("%s has tests of its own by now, or is gone: delete its line here", name)
		}
	}
}
