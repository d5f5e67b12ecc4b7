package output

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/printable"
)

// This file prints Markdown for comments on pull requests.

// MostRows is how many rows of one table are printed.
const MostRows = 100

// MostBytes is the length of a comment. GitHub takes comments of 65,536 characters
// (https://github.com/orgs/community/discussions/27190); the rest is for a pipeline's own text.
const MostBytes = 60_000

// A Comment is Markdown of limited length. The zero value is empty.
type Comment struct{ strings.Builder }

// Table prints rows under a heading; nothing without rows. Rows for which there is no room are
// counted, by the text of their first cell, so the most important rows go first. A table leaves a
// quarter of the room that is left to the tables after it.
func (c *Comment) Table(heading string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	most := c.Len() + (MostBytes-c.Len())*3/4
	fmt.Fprintf(c, "\n%s\n%s|\n", heading, strings.Repeat("|---", strings.Count(heading, "|")-1))
	for i, row := range rows {
		text := fmt.Sprintf("| %s |\n", strings.Join(row, " | "))
		if i == MostRows || c.Len()+len(text) > most {
			c.leftOut(rows[i:])
			return
		}
		c.WriteString(text)
	}
}

// List prints sentences, each after a word in bold; nothing without sentences.
func (c *Comment) List(word string, sentences []string) {
	for i, s := range sentences {
		fmt.Fprintf(c, "%s- %s: %s\n", map[bool]string{true: "\n"}[i == 0], Strong(word), Escaped(s))
	}
}

// leftOut counts rows.
func (c *Comment) leftOut(rows [][]string) {
	var kinds []string
	number := map[string]int{}
	for _, row := range rows {
		kind, _, _ := strings.Cut(row[0], ":")
		if !strings.HasPrefix(kind, "**") {
			continue
		}
		if number[kind]++; number[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	fmt.Fprintf(c, "\n%d more", len(rows))
	for i, kind := range kinds[:min(len(kinds), 10)] {
		fmt.Fprintf(c, "%s%d %s", map[bool]string{true: ", of which ", false: ", "}[i == 0],
			number[kind], kind)
	}
	c.WriteString(": there is no room for them in a comment; `-o text` prints all.\n")
}

// Code returns text that Markdown shows as it is, to the character: it may be a command that a
// reader pastes. Objects are written by their authors, so a text must not end the code or the cell.
// The fence is longer than any run of backticks in the text, with spaces that Markdown takes off
// (https://github.github.com/gfm/#code-spans), and a table takes the backslash before a bar off
// (https://github.github.com/gfm/#tables-extension-).
func Code(text string) string {
	if text == "" {
		return ""
	}
	text = printable.Line(text)
	longest, run := 0, 0
	for _, c := range text {
		if run++; c != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if longest > 0 || strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ") {
		text = " " + text + " "
	}
	return fence + strings.ReplaceAll(text, "|", `\|`) + fence
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
