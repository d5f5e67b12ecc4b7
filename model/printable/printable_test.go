package printable

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"unicode"
)

func TestLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"what shows stays":                       {`host = a.com & path = /ü/日本 → "x" \d`, `host = a.com & path = /ü/日本 → "x" \d`},
		"a line break":                           {"a\nb\r\nc", `a\nb\r\nc`},
		"a tab, which is no space":               {"a\tb", `a\tb`},
		"the escape of a terminal":               {"\x1b[2J\x1b]0;title\a", `\x1b[2J\x1b]0;title\a`},
		"a control that has one byte more":       {"\u009b2J\u0085", `\u009b2J\u0085`},
		"delete":                                 {"a\x7f", `a\x7f`},
		"nothing, the character":                 {"a\x00", `a\x00`},
		"text from right to left":                {"a\u202eb\u2066c\u200fd", `a\u202eb\u2066c\u200fd`},
		"what has no width":                      {"a\u200bb\u200dc\ufeffd\u00ade", `a\u200bb\u200dc\ufeffd\u00ade`},
		"letters that show nothing":              {"a\u3164b\u115fc", `a\u3164b\u115fc`},
		"variation selectors":                    {"a\ufe0fb\U000e0100c", `a\ufe0fb\U000e0100c`},
		"tags":                                   {"a\U000e0041b", `a\U000e0041b`},
		"separators of lines and paragraphs":     {"a\u2028b\u2029c", `a\u2028b\u2029c`},
		"spaces of other widths":                 {"a\u00a0b\u3000c", `a\u00a0b\u3000c`},
		"what is not UTF-8":                      {"a\xffb\xc3", `a\xffb\xc3`},
		"a byte that is a control by itself":     {"a\x9bb", `a\x9bb`},
		"what stands for what is not UTF-8":      {"a\ufffdb", "a\ufffdb"},
		"for private use":                        {"a\ue000b", `a\ue000b`},
		"nothing":                                {"", ""},
		"a command of GitHub Actions":            {"::error file=a::b", `\u003a:error file=a::b`},
		"one behind spaces, without an end":      {"  ::group", `  \u003a:group`},
		"one of its older form":                  {"a ##[error]b", `a #\u0023[error]b`},
		"addresses, which are none":              {"::/0, ::1/128, ::ffff:10.0.0.5", "::/0, ::1/128, ::ffff:10.0.0.5"},
		"a command inside a line, which is none": {"a ::error::b", "a ::error::b"},
		"an emoji of the supplementary plane":    {"a🚢b", "a🚢b"},
	} {
		if got := Line(c.text); got != c.want {
			t.Errorf("%s: %q becomes %q, want %q", name, c.text, got, c.want)
		}
	}
}

func TestWord(t *testing.T) {
	for text, want := range map[string]string{
		"/cart":           `/cart`,
		`^/a\d+(/.*)?$`:   `^/a\d+(/.*)?$`,
		"":                `""`,
		"/a b":            `"/a b"`,
		"/a | /b":         `"/a | /b"`,
		`"/a"`:            `"\"/a\""`,
		`a "b" \c`:        `"a \"b\" \\c"`,
		"/a\nb":           `"/a\nb"`,
		"/\u202ea":        `"/\u202ea"`,
		"it's":            `it's`,
		"/x → forward y":  `"/x → forward y"`,
		"a\"b":            `a"b`,
		"/ü":              `/ü`,
		"\xff":            `"\xff"`,
		"#{protocol}://x": `#{protocol}://x`,
		"::error::x":      `"::error::x"`,
		"/##[error]":      `"/#\u0023[error]"`,
	} {
		if got := Word(text); got != want {
			t.Errorf("%q becomes %s, want %s", text, got, want)
		}
	}
}

// FuzzPrintable holds what is printed of any text to what its functions promise.
func FuzzPrintable(f *testing.F) {
	for _, seed := range []string{"", "/cart", "a\nb", "\x1b]0;x\a", "a\u202eb", "\xff\xfe", "a b", `"`, `"\n"`, `\n`, "\U000e0100", "a'b", "\ufffd", "$(id)", "\u2028"} {
		f.Add(seed, "other")
		f.Add(seed, seed+" ")
		f.Add("\U000e0100", "\ue0100")
	}
	f.Fuzz(func(t *testing.T, text, other string) {
		for _, printed := range []string{Line(text), Word(text)} {
			for _, r := range printed {
				if !unicode.IsPrint(r) && r != ' ' {
					t.Errorf("%q is printed with %U", text, r)
				}
			}
			if Line(printed) != printed {
				t.Errorf("%q is printed as %q, which is not printable", text, printed)
			}
		}
		if text != other && Word(text) == Word(other) {
			t.Errorf("%q and %q are printed alike: %s", text, other, Word(text))
		}
		document, err := json.Marshal(map[string]string{text: text})
		if err != nil {
			t.Fatal(err)
		}
		safe := JSON(append(document, '\n'))
		var before, after map[string]string
		if json.Unmarshal(document, &before) != nil || json.Unmarshal(safe, &after) != nil || len(before) != len(after) {
			t.Fatalf("%s becomes %s", document, safe)
		}
		for key, value := range before {
			if after[key] != value {
				t.Errorf("%s becomes %s", document, safe)
			}
		}
		if line := strings.TrimSuffix(string(safe), "\n"); Line(line) != line {
			t.Errorf("%s is not printable", safe)
		}
	})
}

// TestShell has a shell say which word it reads.
func TestShell(t *testing.T) {
	for _, text := range []string{"", "plain", "a b", "it's", "$(id)", "`id`", "a;b|c&d>e", `\`, "*", "a\nb", "!x", "~", "#x", "a##[error]b'", "##[", "http://a.com/x?y=1&z=2"} {
		command := exec.Command("sh", "-c", "printf %s "+Shell(text))
		var out bytes.Buffer
		command.Stdout = &out
		if err := command.Run(); err != nil || out.String() != text || strings.Contains(Shell(text), "##[") {
			t.Errorf("%q is read as %q: %v", text, out.String(), err)
		}
	}
}
