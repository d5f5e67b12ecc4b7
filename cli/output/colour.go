package output

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"fairlead.dev/fairlead/model/diag"
)

// This file has colour for text on a terminal, and the width of terminals.

// plainText is the variable that asks every program for text without colour: https://no-color.org.
const plainText = "NO_COLOR" //nolint:misspell // it is spelt this way everywhere

// The width of text that is no wider than it reads well, and of text that is not for a terminal.
const (
	widest = 100
	usual  = 80
)

// Width returns how many characters a line of text can have.
func Width(w io.Writer) int {
	if columns, is := terminal(w); is {
		return min(columns, widest)
	}
	return usual
}

// terminal returns the columns of a terminal, or false for what is none.
func terminal(w io.Writer) (columns int, is bool) {
	file, ok := w.(*os.File)
	if !ok {
		return 0, false
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	return columns, err == nil && columns > 0
}

// Wrap returns a text that begins at a column with line breaks for a terminal, if it is too long for one line: the
// parts that semicolons end have lines of their own. For a file, a text stays one line.
func Wrap(w io.Writer, text string, column int) string {
	columns, is := terminal(w)
	if !is || column+utf8.RuneCountInString(text) <= columns {
		return text
	}
	const indent = "      "
	var lines []string
	start := strings.Repeat(" ", column)
	for part := range strings.SplitAfterSeq(text, "; ") {
		line := Fill(start+strings.TrimSpace(part), Words, indent, "", columns)
		lines, start = append(lines, line), indent
	}
	return strings.TrimLeft(strings.Join(lines, "\n"), " ")
}

// Words matches the words of a line. White space at its beginning is a part of the first one.
var Words = regexp.MustCompile(`^ +[^ ]+|[^ ]+`)

// Fill breaks a line between words, so that no line has more characters than width. Lines after the first
// one begin with an indent; all but the last one end in the same way.
func Fill(line string, words *regexp.Regexp, indent, end string, width int) string {
	var out strings.Builder
	column := 0
	for i, word := range words.FindAllString(line, -1) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n+utf8.RuneCountInString(end) > width:
			out.WriteString(end + "\n" + indent)
			column = utf8.RuneCountInString(indent)
		default:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += n
	}
	return out.String()
}

// Palette reports whether to colour the text that is printed.
type Palette bool

// PaletteOf colours text for a terminal, unless a variable asks for plain text.
func PaletteOf(w io.Writer) Palette { return Palette(os.Getenv(plainText) == "" && isTerminal(w)) }

// isTerminal reports whether what is written is seen on a terminal that moves its cursor.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p Palette) paint(text string, code int) string {
	if !p {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", code, text)
}

// Good is green.
func (p Palette) Good(text string) string { return p.paint(text, 32) }

// Bad is red.
func (p Palette) Bad(text string) string { return p.paint(text, 31) }

// Bold is bold.
func (p Palette) Bold(text string) string { return p.paint(text, 1) }

// Severity returns in the colour of the severity.
func (p Palette) Severity(s diag.Severity) string {
	code := map[diag.Severity]int{diag.Error: 31, diag.Warning: 33, diag.Info: 36}[s]
	return p.paint(string(s), code)
}
