package test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// This file counts the lines of code that are wider than 100 columns. The count may only fall.

// widest is how many columns a line may have, and mostWide how many lines are wider, rows of tables
// among them.
const (
	widest   = 100
	mostWide = 1579
)

func TestLinesAreShort(t *testing.T) {
	wide := 0
	for _, folder := range []string{"api", "cli", "controllers", "model", "providers"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !countsAsCode(e.Name()) {
				return err
			}
			text, err := os.ReadFile(path)
			for line := range strings.Lines(string(text)) {
				if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > widest {
					wide++
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case wide > mostWide:
		t.Errorf("%d lines have more than %d columns; there were %d", wide, widest, mostWide)
	case wide < mostWide:
		t.Errorf("%d lines have more than %d columns by now: write that here, in place of %d", wide, widest, mostWide)
	}
}
