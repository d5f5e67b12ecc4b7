package output

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/printable"
)

// This file prints Markdown for comments on pull requests.

// MostRows is how many rows of one table are printed. GitHub takes comments of 65,536 characters
// (https://github.com/orgs/community/discussions/27190), so the rest is only counted.
const MostRows = 100

// Table prints rows under a heading; nothing without rows.
func Table(b *strings.Builder, heading string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n%s|\n", heading, strings.Repeat("|---", strings.Count(heading, "|")-1))
	for _, row := range rows[:min(len(rows), MostRows)] {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
	if more := len(rows) - MostRows; more > 0 {
		fmt.Fprintf(b, "\n%d more.\n", more)
	}
}

// Code returns text that Markdown shows as it is. Objects are written by their authors, so a text
// must not end the code or the cell.
func Code(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ReplaceAll(printable.Line(text), "`", "'")
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

// Escaped returns text without the characters that Markdown and HTML give a meaning.
func Escaped(text string) string {
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

// Strong returns text in bold; nothing without text.
func Strong(text string) string {
	if text == "" {
		return ""
	}
	return "**" + text + "**"
}
