package diag

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file shortens the values of objects in diagnostics. Authors choose names and values of any
// length, and messages are stored, sent as events and printed.

const (
	// longestValue is the most characters of a value in a message.
	longestValue = 100
	// longestWord is the most characters without a space in a message. A request with the longest host
	// and a path of longestValue characters fits.
	longestWord = 400
	// longestMessage is the most bytes of a message.
	longestMessage = 2000
)

// Cut returns the first 100 characters of a text, and an ellipsis if there are more.
func Cut(text string) string {
	head, more := cut(text)
	if more {
		head += "…"
	}
	return head
}

// Quote returns the first 100 characters of a text in quotes, and an ellipsis if there are more.
func Quote(text string) string {
	head, more := cut(text)
	head = strconv.Quote(head)
	if more {
		head += "…"
	}
	return head
}

// cut returns the first characters of a text, and whether there are more.
func cut(text string) (head string, more bool) {
	if len(text) <= longestValue {
		return text, false
	}
	n := 0
	for at := range text {
		if n == longestValue {
			return text[:at], true
		}
		n++
	}
	return text, false
}

// bounded returns a message without the rest of long words, and without the rest of a long message.
// Sort applies it to every diagnostic, because some messages have values that are not cut.
func bounded(message string) string {
	if len(message) <= longestWord {
		return message
	}
	var out strings.Builder
	word := 0
	for _, r := range message {
		if out.Len()+utf8.RuneLen(r) > longestMessage {
			out.WriteString("…")
			break
		}
		if word++; unicode.IsSpace(r) {
			word = 0
		}
		switch {
		case word <= longestWord:
			out.WriteRune(r)
		case word == longestWord+1:
			out.WriteString("…")
		}
	}
	return out.String()
}
