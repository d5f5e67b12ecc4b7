package comparison

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/printable"
)

// This file prints a report for a comment on a pull request.

// mostRows is how many rows of one table are printed. GitHub takes comments of 65,536 characters
// (https://github.com/orgs/community/discussions/27190), so the rest is only counted.
const mostRows = 100

// Markdown returns the report as Markdown.
func (r Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### Fairlead: %s\n", r.Summary)
	var settings [][]string
	for _, e := range r.Exposures {
		setting := e.Setting
		if e.Host != "" {
			setting += " of " + string(e.Host)
		}
		settings = append(settings, []string{
			strong(marks[e.Protection]), code(where(e)), setting, code(e.Before), code(e.After),
		})
	}
	table(&b, "| | Load balancer | Setting | Before | After |", settings)
	var requests [][]string
	for _, c := range r.Changes {
		note := strong(marks[c.Protection])
		if c.Because != "" {
			note += ": " + escaped(c.Because)
		}
		requests = append(requests, []string{
			note, code(c.Curl), code(inWords(c.Before)), code(inWords(c.After)),
		})
	}
	table(&b, "| | Request | Before | After |", requests)
	var undecided [][]string
	for _, u := range r.Undecided {
		undecided = append(undecided, []string{
			code(orAny(string(u.Host))), fmt.Sprint(u.Port), code(string(u.LoadBalancer)), escaped(u.Why),
		})
	}
	table(&b, "| Not decided for host | Port | Load balancer | Why |", undecided)
	return b.String()
}

// table prints rows under a heading; nothing without rows.
func table(b *strings.Builder, heading string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n%s|\n", heading, strings.Repeat("|---", strings.Count(heading, "|")-1))
	for _, row := range rows[:min(len(rows), mostRows)] {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
	if more := len(rows) - mostRows; more > 0 {
		fmt.Fprintf(b, "\n%d more.\n", more)
	}
}

// code is text that Markdown shows as it is. Objects are written by their authors, so a text must
// not end the code or the cell.
func code(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ReplaceAll(printable.Line(text), "`", "'")
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

// escaped is text without the characters that Markdown and HTML give a meaning.
func escaped(text string) string {
	const special = "\\`*_{}[]<>()#+!|~@"
	var b strings.Builder
	for _, c := range printable.Line(text) {
		if strings.ContainsRune(special, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

func strong(text string) string {
	if text == "" {
		return ""
	}
	return "**" + text + "**"
}
