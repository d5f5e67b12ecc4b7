package accesslog

import "bytes"

// This file reads the escapes in fields.
//
// The documentation does not name them. Lines that AWS has written have \x22 for a quote, such as
// the one in https://github.com/DataBiosphere/azul/pull/4920:
//
//	"GET https://gitlab.dev.singlecell.gi.ucsc.edu:443/QUOTE_EXPERIMENT?bar=\x22 HTTP/2.0"

// Unescape returns a field with its escapes decoded. A backslash that begins no escape stays. The
// result is the field itself if it has no escapes.
func Unescape(field []byte) []byte {
	at := bytes.Index(field, []byte(`\x`))
	if at < 0 {
		return field
	}
	out := make([]byte, 0, len(field))
	for at >= 0 {
		out = append(out, field[:at]...)
		high, low := digit(field, at+2), digit(field, at+3)
		if high < 0 || low < 0 {
			out, field = append(out, field[at:at+2]...), field[at+2:]
		} else {
			out, field = append(out, byte(high<<4|low)), field[at+4:]
		}
		at = bytes.Index(field, []byte(`\x`))
	}
	return append(out, field...)
}

// digit returns the value of a hexadecimal digit, or -1.
func digit(text []byte, at int) int {
	if at >= len(text) {
		return -1
	}
	switch c := text[at]; {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
