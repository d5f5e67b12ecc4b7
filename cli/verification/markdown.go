package verification

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/cli/output"
)

// This file prints a report for a comment on a pull request.

// Markdown returns the report as Markdown: the expectations that do not hold.
func (r Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### Fairlead: %s\n", r.Summary)
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
	output.Table(&b, "| Expectation | Request | Problem | Answer |", violated)
	output.Table(&b, "| Expectation | Not decided |", open)
	return b.String()
}
