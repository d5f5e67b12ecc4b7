// Package output prints the results of commands: text for people, with colour on a terminal, and
// JSON or YAML for programs.
package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/model/printable"
)

// This file holds the flag for the format, JSON, YAML, errors and diagnostics.

// A Format is the form of what a command prints.
type Format string

// The formats.
const (
	Text Format = "text" // for people
	JSON Format = "json"
	YAML Format = "yaml" // the same as JSON, in YAML
	// Few commands have these.
	Markdown  Format = "markdown" // for comments on pull requests
	SARIFFile Format = "sarif"    // for code scanning
	GitHub    Format = "github"   // for annotations in GitHub Actions
	JUnitFile Format = "junit"    // for reports of tests
)

// Flag adds the choice between text for people, JSON or YAML for programs, and more.
func Flag(cmd *cobra.Command, format *Format, more ...Format) {
	names := []string{string(Text), string(JSON), string(YAML)}
	for _, f := range more {
		names = append(names, string(f))
	}
	choice := flagvalue.OneOf((*string)(format), string(Text), names...)
	cmd.Flags().VarP(choice, "output", "o", "`FORMAT`: "+flagvalue.Names(names))
	flagvalue.Complete(cmd, "output", names...)
}

// Print prints a value for programs. It is printable for terminals, too.
func (f Format) Print(w io.Writer, value any) error {
	var document bytes.Buffer
	encoder := json.NewEncoder(&document)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("writing %s: %w", f, err)
	}
	text := printable.JSON(document.Bytes())
	if f == YAML {
		inYAML, err := yaml.JSONToYAML(text)
		if err != nil {
			return fmt.Errorf("writing %s: %w", f, err)
		}
		if !printable.IsCommand(string(inYAML)) { // else it stays JSON, which is YAML, too
			text = inYAML
		}
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("writing %s: %w", f, err)
	}
	return nil
}

// A Report has forms for people besides its value for programs.
type Report interface {
	Text(Palette) string
	Markdown() string
}

// IsOfFindings reports whether a format has findings alone: FileFindings prints it.
func (f Format) IsOfFindings() bool { return f == SARIFFile || f == GitHub }

// PrintReport prints a report in its form for people or for programs. An error names the report.
func (f Format) PrintReport(w io.Writer, r Report, named string) error {
	var text string
	switch f {
	case Text:
		text = r.Text(PaletteOf(w))
	case Markdown:
		text = r.Markdown()
	default:
		return f.Print(w, r)
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("printing %s: %w", named, err)
	}
	return nil
}

// Error prints one line for each error that was joined, whatever line breaks an error quotes.
func Error(w io.Writer, err error) {
	for _, text := range joined(err) {
		fmt.Fprintf(w, "error: %s\n", printable.Line(strings.TrimSpace(text)))
	}
}

// joined returns the texts of the errors that errors.Join made one, each with the words that were
// put before all of them. Other errors have one text.
func joined(err error) []string {
	var within []string
	prefix := ""
	switch e := err.(type) { //nolint:errorlint // it looks at one level at a time
	case interface{ Unwrap() []error }:
		if errors.Join(e.Unwrap()...).Error() == err.Error() {
			for _, each := range e.Unwrap() {
				within = append(within, joined(each)...)
			}
		}
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			before, wraps := strings.CutSuffix(err.Error(), inner.Error())
			if all := joined(inner); wraps && len(all) > 1 {
				prefix, within = before, all
			}
		}
	}
	if len(within) == 0 {
		return []string{err.Error()}
	}
	for i := range within {
		within[i] = prefix + within[i]
	}
	return within
}
