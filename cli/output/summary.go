package output

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/diag"
)

// This file counts diagnostics for the last line of commands, and decides whether they fail one.

// A Tally is how many diagnostics of each severity there are, and how many objects were left out.
type Tally struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
	LeftOut  int `json:"leftOut"` // problems of objects and files that could not be read
}

// TallyOf counts diagnostics, and problems of objects that could not be read.
func TallyOf(diagnostics []diag.Diagnostic, problems int) Tally {
	t := Tally{LeftOut: problems}
	for _, d := range diagnostics {
		switch d.Severity {
		case diag.Error:
			t.Errors++
		case diag.Warning:
			t.Warnings++
		case diag.Info:
			t.Notes++
		}
	}
	return t
}

// String returns the counts in words. Problems are errors, too, and are named if there are some.
func (t Tally) String() string {
	parts := []string{
		Number(t.Errors+t.LeftOut, "error"), Number(t.Warnings, "warning"), Number(t.Notes, "note"),
	}
	text := strings.Join(parts, ", ")
	if t.LeftOut > 0 {
		text += "; " + Number(t.LeftOut, "problem") + " in the files, so not everything was read"
	}
	return text
}

// Number returns a number with its noun.
func Number(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
