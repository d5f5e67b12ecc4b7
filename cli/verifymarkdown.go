package cli

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/cli/output"
)

// This file prints a report for a comment on a pull request.

// Markdown returns the report as Markdown: the expectations that do not hold.
func (r verifyReport) Markdown() string {
	var b output.Comment
	fmt.Fprintf(&b, "### Fairlead: %s\n", r.Summary)
	b.List("not checked", r.NotChecked)
	var violated, open [][]string
	for _, e := range r.Expectations {
		for _, v := range e.Violations {
			violated = append(violated, []string{output.Strong(output.Escaped(e.Name)), output.Code(v.Curl),
				output.Escaped(strings.Join(v.Problems, "; ")), output.Code(inWords(v))})
		}
		for _, u := range e.Undecided {
			name := output.Strong(output.Escaped(e.Name))
			open = append(open, []string{name, output.Escaped(undecided(u))})
		}
	}
	b.Table("| Expectation | Request | Problem | Answer |", violated)
	b.Table("| Expectation | Not decided |", open)
	return b.String()
}
