package test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// This file limits the lines of code in each folder, without tests and generated code. Decision 0035
// has the reasons, and counts what the lines are for.

// mostLines are the most lines of each folder. To raise one needs a reason, in the message of the
// commit and in decision 0035.
var mostLines = map[string]int{
	"api": 2650, "cli": 11300, "controllers": 12200, "model": 36950, "providers": 25200,
}

// lineSlack is how many lines a folder may be below its limit before the limit has to fall.
const lineSlack = 300

func TestFoldersHaveAsManyLinesAsDecided(t *testing.T) {
	for folder, most := range mostLines {
		lines := 0
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !countsAsCode(e.Name()) {
				return err
			}
			text, err := os.ReadFile(path)
			lines += strings.Count(string(text), "\n")
			return err
		})
		switch {
		case err != nil:
			t.Fatal(err)
		case lines > most:
			t.Errorf("%s has %d lines, and %d are the most: remove some, or raise the limit with a reason in decision 0035", folder, lines, most)
		case lines < most-lineSlack:
			t.Errorf("%s has %d lines by now: lower its limit from %d", folder, lines, most)
		}
	}
}

// countsAsCode reports whether a file is code that people wrote, and no test.
func countsAsCode(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "zz_generated")
}
