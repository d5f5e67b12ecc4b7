package trials

import (
	"strings"
	"testing"
)

func TestFirstDifference(t *testing.T) {
	long := strings.Repeat("0123456789", 5)
	for name, c := range map[string]struct{ kept, observed, want string }{
		"in the middle":       {"one two", "one six", "kept …one two…, observed …one six…"},
		"less is observed":    {"one two", "one", "kept …one two…, observed …one…"},
		"more is observed":    {"one", "one two", "kept …one…, observed …one two…"},
		"nothing is observed": {"one", "", "kept …one…, observed ……"},
		"after a long text": {
			long + "a" + long, long + "b" + long,
			"kept …" + long[10:] + "a" + long[:39] + "…, observed …" + long[10:] + "b" + long[:39] + "…",
		},
	} {
		if got := firstDifference(c.kept, c.observed); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
