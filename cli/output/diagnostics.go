package output

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
)

// This file prints diagnostics, and folds those that say the same of many objects.

// unfolded is how many diagnostics that say the same are printed; if there are more, alike is.
const (
	unfolded = 5
	alike    = 2
)

// Diagnostics prints diagnostics under a heading. Of many that differ only in names and numbers, it
// prints the first ones and the number of the others.
func Diagnostics(w io.Writer, diagnostics []diag.Diagnostic, colour Palette) error {
	if len(diagnostics) == 0 {
		return nil
	}
	count := map[string]int{}
	for _, d := range diagnostics {
		count[outlineOf(d)]++
	}
	var b strings.Builder
	b.WriteString("Diagnostics:\n")
	printed := map[string]int{}
	for _, d := range diagnostics {
		same := outlineOf(d)
		printed[same]++
		switch at := printed[same]; {
		case count[same] <= unfolded || at <= alike:
			line := printable.Line(fmt.Sprintf("%s %s: %s", d.Reason, d.Source, d.Message))
			line = Wrap(w, line, len("   ")+len(d.Severity))
			fmt.Fprintf(&b, "  %s %s\n", colour.Severity(d.Severity), line)
		case at == alike+1:
			fmt.Fprintf(&b, "  %s %s: %d more like the last one; -o json and -o yaml have all\n",
				colour.Severity(d.Severity), d.Reason, count[same]-alike)
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("printing diagnostics: %w", err)
	}
	return nil
}

// specific matches what names objects in a message: words with digits, dots, slashes or quotes.
var specific = regexp.MustCompile("[^ ]*[-0-9./:*`\"\\[\\]][^ ]*")

// outlineOf is equal for diagnostics that differ only in the objects, fields and numbers that they
// name.
func outlineOf(d diag.Diagnostic) string {
	return strings.Join([]string{Outline(d.Message, d.Source.Name, d.Source.Namespace),
		string(d.Severity), string(d.Reason), d.Source.Kind}, " ")
}

// Outline returns a message without the objects, fields and numbers that it names.
func Outline(message string, names ...string) string {
	words := strings.Fields(message)
	for i, word := range words {
		if slices.Contains(names, strings.Trim(word, ",;:")) || specific.MatchString(word) {
			words[i] = "…"
		}
	}
	return strings.Join(words, " ")
}
