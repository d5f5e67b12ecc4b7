package manifests

import (
	"runtime"
	"strings"
	"testing"
)

func TestAliasesStandForNoMoreThanAManifest(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n"
	cases := map[string]struct {
		data    string
		refused bool
	}{
		"one anchor, used as it is meant to be": {"  a: &a text\n  b: *a\n", false},
		"a star and an ampersand in texts":      {"  a: 'b & c'\n  d: '*'\n", false},
		"a long text, many times":               {"  a: [&a " + strings.Repeat("A", 20_000) + strings.Repeat(", *a", 5_000) + "]\n", true},
		"lists of lists": {"  a: &a [x, x, x, x, x, x, x, x, x]\n  b: &b [" + alias("a") + "]\n  c: &c [" + alias("b") + "]\n  d: &d [" + alias("c") +
			"]\n  e: &e [" + alias("d") + "]\n  f: &f [" + alias("e") + "]\n  g: &g [" + alias("f") + "]\n  h: &h [" + alias("g") + "]\n", true},
		"several documents, each of which is small enough": {
			strings.Repeat("  a: [&a "+strings.Repeat("A", 20_000)+strings.Repeat(", *a", 200)+"]\n---\n"+object, 3), true},
		"an alias of what it is part of": {"  a: &a [*a]\n", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Load([]string{"-"}, strings.NewReader(object+c.data))
			runtime.ReadMemStats(&after)
			if refused := strings.Contains(err.Error(), "aliases replaced"); refused != c.refused {
				t.Errorf("error %v, want refused: %v", err, c.refused)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 96<<20 {
				t.Errorf("%d MiB are allocated", allocated>>20)
			}
		})
	}
}

func alias(name string) string { return strings.TrimSuffix(strings.Repeat("*"+name+", ", 9), ", ") }
