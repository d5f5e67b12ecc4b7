package cli

import (
	"fmt"
	"io"
	"os"

	"fairlead.dev/fairlead/model/diag"
)

// plainText is the variable by which people ask every program for text without colour.
const plainText = "NO_COLOR" //nolint:misspell // it is spelt this way everywhere

// palette says whether to colour what is printed.
type palette bool

// colours is true for a terminal whose owner has not asked for plain text.
func colours(w io.Writer) palette {
	file, ok := w.(*os.File)
	if !ok || os.Getenv(plainText) != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return palette(err == nil && info.Mode()&os.ModeCharDevice != 0)
}

func (p palette) paint(text string, code int) string {
	if !p {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", code, text)
}

func (p palette) good(text string) string { return p.paint(text, 32) }
func (p palette) bad(text string) string  { return p.paint(text, 31) }
func (p palette) bold(text string) string { return p.paint(text, 1) }

func (p palette) severity(s diag.Severity) string {
	code := map[diag.Severity]int{diag.Error: 31, diag.Warning: 33, diag.Info: 36}[s]
	return p.paint(string(s), code)
}
