package output

import (
	"fmt"
	"io"
	"os"

	"fairlead.dev/fairlead/model/diag"
)

// This file colours text on a terminal.

// plainText is the variable that asks every program for text without colour: https://no-color.org.
const plainText = "NO_COLOR" //nolint:misspell // it is spelt this way everywhere

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
