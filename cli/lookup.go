package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/foreign"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/settings"
)

// This file explains names: annotations and reasons.

// A name is what explain prints of an annotation or a reason: rows with a heading each.
type name [][2]string

// names are several of them.
type names []name

// lookUpAll finds names. It reports false if one of the words is a URL.
func lookUpAll(words []string) (names, bool) {
	var out names
	for _, word := range words {
		n, found := lookUp(word)
		if !found {
			return nil, false
		}
		out = append(out, n)
	}
	return out, len(out) > 0
}

// print prints names, with an empty line between them.
func (n names) print(w io.Writer, format output.Format) error {
	if format != output.Text {
		return errors.New("explain prints names as text alone")
	}
	for i, one := range n {
		if i > 0 {
			fmt.Fprintln(w)
		}
		one.print(w)
	}
	return nil
}

// lookUp finds an annotation, with or without a value, or a reason of diagnostics or conditions. It does not find URLs.
func lookUp(word string) (name, bool) {
	for _, r := range diag.Reasons {
		if strings.EqualFold(string(r.Reason), word) {
			r = r.Plain()
			n := name{{"reason", string(r.Reason)}, {"it means", r.Meaning}, {"do this", r.Remedy}}
			return append(append(n, conditionsWith(word)...),
				[2]string{"page", "docs/reference/diagnostics.md#" + strings.ToLower(string(r.Reason))}), true
		}
	}
	if n, found := lookUpCondition(word); found {
		return n, true
	}
	key, value, given := strings.Cut(word, "=")
	if strings.Contains(key, "://") || strings.Count(key, "/") > 1 {
		return nil, false
	}
	for i, row := range settings.Table {
		if row.Annotation != "" && strings.EqualFold(row.Annotation, key) {
			return ownName(&settings.Table[i]), true
		}
	}
	if !given {
		value = "x"
	}
	return foreignName(key, value)
}

// ownName explains an annotation of Fairlead.
func ownName(row *settings.Setting) name {
	without := row.Default
	if without == "" {
		without = row.Without
	}
	return name{
		{"annotation", row.Annotation}, {"it", row.Doc}, {"without it", without}, {"class", row.Class},
		{"example", row.Example}, {"page", "docs/reference/annotations.md" + anchor(row.Annotation)},
	}
}

// anchor is that of the heading which is a name in code quotes.
func anchor(name string) string {
	return "#" + strings.NewReplacer(".", "", "/", "").Replace(name)
}

// foreignName explains an annotation of another controller.
func foreignName(key, value string) (name, bool) {
	found, known := foreign.Explain(key, value)
	if !known {
		return nil, false
	}
	effect := map[foreign.Effect]string{
		foreign.Harmless: "changes no answer: nothing is said of it",
		foreign.Changes:  "changes answers: the Ingress is served without it, with a warning",
		foreign.Restricts: "restricts: the Ingress is not served as it is, unless its class has " +
			"foreignAnnotations: Warn or Ignore",
	}[found.Effect]
	if found.When != "" {
		effect += " (" + found.When + ")"
	}
	rule := ""
	if found.ByWords {
		rule = "the words of its name; its controller has no table"
	}
	return name{
		{"annotation", key}, {"of", found.Controller}, {"it", effect}, {"by", rule}, {"instead", found.Instead},
		{"example", found.Example}, {"page", "docs/reference/foreign-annotations.md"},
	}, true
}

// print prints the rows that have a text.
func (n name) print(w io.Writer) {
	for _, row := range n {
		if row[1] != "" {
			fmt.Fprintf(w, "%-11s %s\n", row[0], printable.Line(row[1]))
		}
	}
}
