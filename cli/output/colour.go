package output

import (
	"fmt"
	"io"
	"os"

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
	if file, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return min(width, widest)
		}
	}
	return usual
}

// Palette reports whether to colour the text that is printed.
type Palette bool

// PaletteOf colours text for a terminal, unless a variable asks for plain text.
func PaletteOf(w io.Writer) Palette {
	file, ok := w.(*os.File)
	if !ok || os.Getenv(plainText) != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return Palette(err == nil && info.Mode()&os.ModeCharDevice != 0)
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
