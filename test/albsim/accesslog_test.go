package albsim

import (
	"strings"
	"testing"
)

// TestTextsOfClientsAreEscaped in fields of access logs.
func TestTextsOfClientsAreEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"-": `"-"`, `a"b`: `"a\x22b"`, "é\n": `"\xC3\xA9\x0A"`, `\`: `"\"`,
	} {
		if got := quoted(text); got != want {
			t.Errorf("%q is written as %s, want %s", text, got, want)
		}
	}
}

// TestSharesGetRequestsByWeight in access logs, too.
func TestSharesGetRequestsByWeight(t *testing.T) {
	a := Answer{Forward: []Share{{Group: "a", Weight: 1}, {Group: "b", Weight: 3}}}
	var got strings.Builder
	for turn := range 8 {
		got.WriteString(a.chosen(turn).Group)
	}
	if got.String() != "abbbabbb" {
		t.Errorf("requests go to %s", got.String())
	}
}
