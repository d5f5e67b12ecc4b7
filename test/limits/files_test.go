package limits

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/cputime"
	"fairlead.dev/fairlead/test/nightly"
)

// This file holds the reader of files to linear cost: a file of a megabyte, whatever is in it.

// What a file of a megabyte may take: twice what one Ingress may.
const (
	mostMemoryOfFile = 2 * mostMemory
	mostTimeOfFile   = 2 * mostTime
	megabyte         = 1 << 20
)

// object is the manifest of an Ingress; more is text behind it.
func object(name, more string) string {
	return "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: " + name + ", namespace: shop}\nspec:\n" +
		"  ingressClassName: fairlead\n  defaultBackend: {service: {name: web, port: {number: 80}}}\n" + more
}

// filled repeats a text up to a megabyte.
func filled(text string) string { return strings.Repeat(text, megabyte/len(text)) }

// numbered repeats a text with numbers up to a megabyte.
func numbered(format string) string {
	var b strings.Builder
	for i := 0; b.Len() < megabyte; i++ {
		b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// files have a megabyte each, and what is told of some.
func files() map[string][2]string {
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n"
	const budget = "with their aliases replaced"
	text := configMap + "  a: [&a " + strings.Repeat("A", 20_000) + strings.Repeat(", *a", 200) + "]\n---\n"
	nested := configMap + "  a: &a [x, x, x, x, x, x, x, x, x]\n  b: &b [*a, *a, *a, *a, *a, *a, *a]\n  c: &c [*b, *b, *b, *b, *b, *b]\n" +
		"  d: &d [*c, *c, *c, *c, *c, *c]\n  e: [*d, *d, *d, *d, *d, *d]\n---\n"
	const item = `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"a#"},"spec":{"defaultBackend":{"service":{"name":"w","port":{"number":"x"}}}}},`
	return map[string][2]string{
		"aliases of texts":           {filled(text), budget},
		"aliases of lists":           {filled(nested), budget},
		"one list twice":             {"x: &a [" + filled("a,") + "]\ny: *a\n", budget},
		"aliases of each other":      {"a:\n" + numbered("- &a# x\n- *a#\n"), ""},
		"merged maps":                {"a: &a {x: 1}\nb:\n" + filled("- {<<: *a}\n"), ""},
		"broken documents":           {filled("a: [\n---\n"), "more problems"},
		"empty documents":            {filled("---\n"), ""},
		"documents of a word":        {filled("---\na\n"), "more problems"},
		"JSON on a line each":        {filled("{}\n"), "more problems"},
		"JSON on one line":           {filled("{}"), "more problems"},
		"comments":                   {filled("#\n"), ""},
		"a deep list":                {"a: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "\n" + filled("# x\n"), ""},
		"a deep annotation":          {`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"annotations":{"a":` + strings.Repeat("[", 5000) + `"` + filled("x") + `"` + strings.Repeat("]", 5000) + "}}}", "must be of type"},
		"unknown fields":             {object("a", numbered("  f#: 1\n")), "unknown field"},
		"one key":                    {filled("a: 1\n"), "already set"},
		"a list of numbers":          {`{"apiVersion":"v1","kind":"List","items":[` + filled("1,") + "1]}", "more problems"},
		"a list of broken Ingresses": {`{"apiVersion":"v1","kind":"List","items":[` + strings.TrimSuffix(numbered(item), ",") + "]}", "must be of type"},
		"Ingresses":                  {numbered(object("a#", "---\n")), ""},
		"one Ingress many times":     {filled(object("a", "---\n")), "a second object"},
		"a long name":                {object(filled("a"), ""), "metadata.name"},
	}
}

func TestOneFileTakesLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the binary on 60 files of a megabyte")
	}
	fairlead := command(t)
	good := filepath.Join(t.TempDir(), "good.yaml")
	if err := os.WriteFile(good, []byte(object("web", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	all := files()
	for _, name := range nightly.Some(t, 8, slices.Sorted(maps.Keys(all))) {
		c := all[name]
		commands := []string{"validate FILE", "diff GOOD FILE", "plan GOOD --observed FILE", "diff --old-state FILE GOOD"}
		for _, command := range nightly.Some(t, 1, commands) {
			t.Run(name+"/"+command, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "file.yaml")
				if err := os.WriteFile(file, []byte(c[0]), 0o600); err != nil {
					t.Fatal(err)
				}
				args := strings.Fields(strings.NewReplacer("FILE", file, "GOOD", good).Replace(command))
				over := ""
				for range triesWithin {
					state, said := ran(t, fairlead, args...)
					memory, spent := memoryOf(state), cputime.Of(state)
					t.Logf("%.2f s of CPU, %d MiB, %d bytes printed", spent.Seconds(), memory>>20, len(said))
					if args[0] == "validate" && !strings.Contains(said, c[1]) {
						t.Fatalf("nothing is said of %s: %.500s", c[1], said)
					}
					if !cputime.Over(t, spent, mostTimeOfFile) && memory <= mostMemoryOfFile {
						return
					}
					over = fmt.Sprintf("it took %s of CPU and %d MiB", spent, memory>>20)
				}
				t.Error(over)
			})
		}
	}
}
