// Package printable makes text of objects safe to print. Tenants choose paths, conditions, names in
// certificates and parts of error messages. Printed as they are, control characters in them move
// the cursor of a terminal, a line break forges the next line, and a bidirectional control shows
// text in another order than programs read it.
package printable

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ignorable has the invisible characters that Unicode counts as letters, marks or symbols. The
// tables are those of https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point; its other
// characters are not printable to Go.
var ignorable = []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point,
	unicode.Variation_Selector}

// Line returns the text as a part of one line. Characters that are not printed as themselves are
// replaced by their escapes in Go's syntax: controls (including line breaks and tabs), format
// characters such as bidirectional controls, spaces other than the space, and bytes that are not
// UTF-8.
func Line(text string) string {
	if plain(text) {
		return inert(text)
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		writeRune(&b, r, rest[:size])
		rest = rest[size:]
	}
	return inert(b.String())
}

// The commands that GitHub Actions reads from the lines that a job prints: ::error:: at the start
// of a line, and ##[error] anywhere in it
// (https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs).
var (
	commandAtStart = regexp.MustCompile(`^ *:(:[A-Za-z-]+( |::|$))`)
	commandInside  = strings.NewReplacer("##[", `#\u0023[`)
)

// inert returns a printable text in which no command of GitHub Actions is.
func inert(text string) string {
	if at := commandAtStart.FindStringSubmatchIndex(text); at != nil {
		text = text[:at[2]-1] + `\u003a` + text[at[2]:]
	}
	return commandInside.Replace(text)
}

// IsCommand reports whether GitHub Actions would take a line of a text for a command.
func IsCommand(text string) bool {
	if !strings.ContainsAny(text, ":#") {
		return false
	}
	for line := range strings.Lines(text) {
		if commandAtStart.MatchString(strings.TrimRight(line, "\n")) || strings.Contains(line, "##[") {
			return true
		}
	}
	return false
}

// Word returns the text as one word: unchanged if it is one, else in quotes. Different texts are
// different words.
func Word(text string) string {
	isWord := text != "" && text[0] != '"' && !strings.Contains(text, " ")
	if isWord && plain(text) && !IsCommand(text) {
		return text
	}
	var b strings.Builder
	b.WriteByte('"')
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == '"' || r == '\\' {
			b.WriteByte('\\')
		}
		writeRune(&b, r, rest[:size])
		rest = rest[size:]
	}
	b.WriteByte('"')
	return commandInside.Replace(b.String())
}

// Words returns each text as Word does.
func Words(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = Word(text)
	}
	return out
}

// JSON returns a JSON document with every character escaped that Line would escape. Its meaning is
// the same, as such characters occur only in strings. White space between values stays.
func JSON(document []byte) []byte {
	var b strings.Builder
	for rest := string(document); rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == '\n' || r == '\t' || r == '\r' || isShown(r) && (r != utf8.RuneError || size > 1):
			b.WriteString(rest[:size])
		case r > 0xffff: // JSON escapes are UTF-16
			const surrogates = 0x10000
			writeUTF16(&b, 0xd800+(r-surrogates)>>10)
			writeUTF16(&b, 0xdc00+(r-surrogates)&0x3ff)
		default:
			writeUTF16(&b, r)
		}
		rest = rest[size:]
	}
	return []byte(commandInside.Replace(b.String()))
}

// Shell returns the text as one word of a shell's command line, in quotes if a shell would
// interpret it.
func Shell(text string) string {
	const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/%+=@,~"
	if text != "" && text[0] != '~' && strings.Trim(text, harmless) == "" {
		return text
	}
	quoted := "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	return strings.ReplaceAll(quoted, "##[", "#''#[") // a shell joins the parts
}

// plain reports whether every character is printed as itself.
func plain(text string) bool {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return false
			}
		}
		if !isShown(r) {
			return false
		}
	}
	return true
}

// isShown reports whether a character is printed as itself.
func isShown(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= ' ' && r < 0x7f
	}
	return strconv.IsPrint(r) && !unicode.In(r, ignorable...)
}

// writeRune writes a character, or its escape. Raw is its form in the text.
func writeRune(b *strings.Builder, r rune, raw string) {
	if plain(raw) {
		b.WriteString(raw)
		return
	}
	switch {
	case r == utf8.RuneError && len(raw) == 1: // not UTF-8
		fmt.Fprintf(b, `\x%02x`, raw[0])
	case strconv.IsPrint(r): // Go would print it
		escape := `\u%04x`
		if r > 0xffff {
			escape = `\U%08x`
		}
		fmt.Fprintf(b, escape, r)
	default:
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
}

// writeUTF16 writes an escape of JSON.
func writeUTF16(b *strings.Builder, unit rune) { fmt.Fprintf(b, `\u%04x`, unit) }

// Shorten returns a text for a status or an event: one line, printable, and of at most 1,000 bytes.
func Shorten(text string) string {
	const most = 1000
	text = Line(strings.ReplaceAll(text, "\n", "; ")) // joined errors are on separate lines
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
