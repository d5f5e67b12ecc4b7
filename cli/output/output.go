// Package output prints the results of commands: text for people, with colour on a terminal, and
// JSON for programs.
package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
)

// This file holds the flag for the format, JSON, errors and diagnostics.

// The formats.
const (
	textFormat = "text"
	jsonFormat = "json"
)

// Flag adds the choice between text for people and JSON for programs.
func Flag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVarP(format, "output", "o", textFormat, "`FORMAT`: text or json")
	flagvalue.Complete(cmd, "output", textFormat, jsonFormat)
}

// IsJSON reads the flag.
func IsJSON(format string) (bool, error) {
	switch format {
	case jsonFormat:
		return true, nil
	case textFormat:
		return false, nil
	}
	return false, fmt.Errorf("--output: %q is neither text nor json", format)
}

// JSON prints a value. It is printable for terminals, too.
func JSON(w io.Writer, value any) error {
	var document bytes.Buffer
	encoder := json.NewEncoder(&document)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	if _, err := w.Write(printable.JSON(document.Bytes())); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}

// Error prints one line for each error that was joined, whatever line breaks an error quotes.
func Error(w io.Writer, err error) {
	for _, err := range joined(err) {
		fmt.Fprintf(w, "error: %s\n", printable.Line(strings.TrimSpace(err.Error())))
	}
}

// joined returns the errors of which errors.Join made this one, or it alone.
func joined(err error) []error {
	all, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Join(all.Unwrap()...).Error() != err.Error() {
		return []error{err}
	}
	var out []error
	for _, err := range all.Unwrap() {
		out = append(out, joined(err)...)
	}
	return out
}

// Diagnostics prints diagnostics under a heading.
func Diagnostics(w io.Writer, diagnostics []diag.Diagnostic, colour Palette) error {
	if len(diagnostics) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w, "\nDiagnostics:"); err != nil {
		return err
	}
	for _, d := range diagnostics {
		line := printable.Line(fmt.Sprintf("%s %s: %s", d.Reason, d.Source, d.Message))
		if _, err := fmt.Fprintf(w, "  %s %s\n", colour.severity(d.Severity), line); err != nil {
			return err
		}
	}
	return nil
}
