// Package page keeps the files that are written from code: `make generate` writes them, and a test
// says when one that is committed is not what the code says any more.
package page

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the pages that are generated from code")

// Check compares a committed file with what is generated, or writes it if the test runs with
// -update.
func Check(t *testing.T, file, generated string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(generated), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	committed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(committed), generated); diff != "" {
		t.Errorf("%s is not what the code says; `make generate` writes it (-committed +generated):\n%s", file, diff)
	}
}
