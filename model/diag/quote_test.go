package diag

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestQuotedValuesAreShort(t *testing.T) {
	cases := map[string]struct{ text, quoted, cut string }{
		"a short value":            {"a b", `"a b"`, "a b"},
		"an escape sequence":       {"\x1b[31m", `"\x1b[31m"`, "\x1b[31m"},
		"100 characters":           {strings.Repeat("ü", 100), `"` + strings.Repeat("ü", 100) + `"`, strings.Repeat("ü", 100)},
		"101 characters":           {strings.Repeat("ü", 101), `"` + strings.Repeat("ü", 100) + `"…`, strings.Repeat("ü", 100) + "…"},
		"characters of four bytes": {strings.Repeat("😀", 1<<16), `"` + strings.Repeat("😀", 100) + `"…`, strings.Repeat("😀", 100) + "…"},
	}
	for name, c := range cases {
		if got := Quote(c.text); got != c.quoted {
			t.Errorf("%s is quoted as %s, want %s", name, got, c.quoted)
		}
		if got := Cut(c.text); got != c.cut {
			t.Errorf("%s is cut to %s, want %s", name, got, c.cut)
		}
	}
}

func TestMessagesAreShort(t *testing.T) {
	long := strings.Repeat("ä", 1<<20)
	cases := map[string]struct{ message, want string }{
		"a usual message":  {"host a.com is served", "host a.com is served"},
		"a long word":      {"before " + long + " after", "before " + strings.Repeat("ä", longestWord) + "… after"},
		"many short words": {strings.Repeat("a ", 1<<20), strings.Repeat("a ", longestMessage/2) + "…"},
	}
	for name, c := range cases {
		got := Sort([]Diagnostic{{Message: c.message}})[0].Message
		if got != c.want || !utf8.ValidString(got) {
			t.Errorf("%s becomes one of %d bytes:\n%.200s", name, len(got), got)
		}
	}
}
