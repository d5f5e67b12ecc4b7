package output

import (
	"fmt"
	"io"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/printable"
)

// This file prints the findings of checks.

// FindingsReport is the JSON form of findings.
type FindingsReport struct {
	Findings []check.Finding `json:"findings"`
	Wrong    int             `json:"wrong"`
	Unknown  int             `json:"unknown"`
}

// Findings prints findings.
func Findings(w io.Writer, all []check.Finding, format Format) error {
	if format == Text {
		return FindingLines(w, all)
	}
	return format.Print(w, FindingsReport{
		Findings: all, Wrong: check.Count(all, check.Wrong), Unknown: check.Count(all, check.Unknown),
	})
}

// signs are the first characters of lines.
var signs = map[check.State]string{check.OK: "✓", check.Wrong: "✗", check.Unknown: "?"}

// FindingLines prints a line for each finding, and their number.
func FindingLines(w io.Writer, all []check.Finding) error {
	paint := PaletteOf(w)
	for _, f := range all {
		sign := signs[f.State]
		switch f.State {
		case check.OK:
			sign = paint.Good(sign)
		case check.Wrong:
			sign = paint.Bad(sign)
		}
		line := f.Title
		if f.Detail != "" {
			line += ": " + f.Detail
		}
		if f.Advice != "" {
			line += "; " + f.Advice
		}
		if _, err := fmt.Fprintf(w, "%s %s\n", sign, printable.Line(line)); err != nil {
			return fmt.Errorf("writing what was found: %w", err)
		}
	}
	passed, failed := check.Count(all, check.OK), check.Count(all, check.Wrong)
	unknown := check.Count(all, check.Unknown)
	_, err := fmt.Fprintf(w, "%d passed, %d failed, %d unknown\n", passed, failed, unknown)
	if err != nil {
		return fmt.Errorf("writing what was found: %w", err)
	}
	return nil
}
