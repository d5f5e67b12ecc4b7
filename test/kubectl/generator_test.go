package kubectl

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// This file draws directories of files: objects in the forms that kubectl knows and in some that it
// does not, and what is no object.

// A generator draws a tree.
type generator struct {
	*rand.Rand
	objects int
	// harmless means that nothing was drawn that the command line may refuse although kubectl reads it.
	harmless bool
}

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
	g.harmless = g.IntN(3) == 0
	return g
}

// tree writes a tree of files.
func (g *generator) tree(dir string) error {
	for range 1 + g.IntN(4) {
		inside := pick(g, "", "", "", "a", ".hidden", "a/b", "x.yaml.d", "d.yaml")
		at := filepath.Join(dir, inside)
		if err := os.MkdirAll(at, 0o700); err != nil {
			return err
		}
		file := filepath.Join(at, pick(g, "a.yaml", "b.yml", "c.json", ".e.yaml", "kustomization.yaml",
			"Kustomization", "kustomization.yml", "n.txt", "A.YAML", "noending", ".yaml", "c.yaml.bak", "f.yaml.json"))
		if _, err := os.Lstat(file); err == nil {
			continue
		}
		if filepath.Base(file) == "Kustomization" {
			g.harmless = false // kubectl reads it with -k alone, and the command line tells of it
		}
		if err := os.WriteFile(file, []byte(g.file()), 0o600); err != nil {
			return err
		}
		if g.IntN(12) == 0 {
			g.harmless = false // one object twice
			link := filepath.Join(at, pick(g, "l.yaml", "l", "l.json"))
			if err := os.Symlink(pick(g, filepath.Base(file), "nowhere", ".", ".."), link); err != nil && !os.IsExist(err) {
				return err
			}
		}
	}
	return nil
}

// file draws the text of a file.
func (g *generator) file() string {
	var parts []string
	for range g.IntN(4) {
		parts = append(parts, g.document())
	}
	separator := "\n---\n"
	switch g.IntN(8) {
	case 0:
		separator = pick(g, "\n--- # next\n", "\n---  \n", "\n---\n---\n", "\n---\n# a comment\n---\n", "\n---\n\n\n")
	case 1:
		if !g.harmless {
			separator = pick(g, "\n--- ", "\n----\n", "\n...\n", "\n ---\n", "\n---x\n", "", " ", "\n", "\n...\n---\n", "\r---\r", "\n---\t# x\n", "\n\ufeff---\n")
		}
	}
	text := pick(g, "", "", "", "---\n", "# a comment\n", "\n\n") + strings.Join(parts, separator) + pick(g, "", "\n", "\n---\n", "\n---", "\n...\n")
	if g.IntN(10) == 0 {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	switch g.IntN(16) {
	case 0:
		return "\ufeff" + text
	case 1:
		return utf16(text, g.IntN(2) == 0)
	}
	return text
}

func utf16(text string, little bool) string {
	var b strings.Builder
	for _, r := range "\ufeff" + text {
		pair := []byte{byte(r >> 8), byte(r)}
		if little {
			pair[0], pair[1] = pair[1], pair[0]
		}
		b.Write(pair)
	}
	return b.String()
}

// document draws a document.
func (g *generator) document() string {
	if !g.harmless && g.IntN(8) == 0 {
		return pick(g, "just text", "[1, 2]", "a: b", "{}", "null", "5", "{{ if x }}", "a: [", "kind: Ingress", "%YAML 1.1", "'", "\t", `{"a"`,
			"apiVersion: v1", "kind: 5\napiVersion: v1", "kind: List\napiVersion: v1\nitems: 5", "kind: Service\napiVersion: v1\nmetadata: 5",
			"kind: Service\nmetadata: {name: x}", "resources: [a.yaml]", "a: &a [*a]", "? [a]\n: b", "on: yes")
	}
	return g.written(g.object(0))
}

// written writes an object as JSON or YAML.
func (g *generator) written(object []field) string {
	switch g.IntN(3) {
	case 0:
		return inJSON(object, pick(g, "", " ", "\n"))
	case 1:
		return inYAML(object, "")
	}
	return strings.TrimSpace(inJSON(object, "")) // a flow mapping, if something follows
}

// A field is a key and its value: text, a number, fields, or a list of fields. Keys may repeat.
type field struct {
	key   string
	value any
}

// object draws an object or a list of some.
func (g *generator) object(depth int) []field {
	if depth < 3 && g.IntN(4) == 0 {
		return g.list(depth)
	}
	g.objects++
	name := fmt.Sprintf("o%d", g.objects)
	metadata := []field{{"name", name}, {"namespace", "n"}}
	var out []field
	switch g.IntN(4) {
	case 0:
		out = []field{{"apiVersion", "networking.k8s.io/v1"}, {"kind", "Ingress"}, {"metadata", metadata}, {"spec", []field{{"defaultBackend",
			[]field{{"service", []field{{"name", "s"}, {"port", []field{{"number", 80}}}}}}}}}}
	case 1:
		out = []field{{"apiVersion", "v1"}, {"kind", "Service"}, {"metadata", metadata}}
	case 2:
		out = []field{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", metadata}}
	default:
		out = []field{{"apiVersion", "fairlead.dev/v1alpha1"}, {"kind", "Backend"}, {"metadata", metadata}}
	}
	return g.spoiled(out, depth)
}

// list draws a list of objects.
func (g *generator) list(depth int) []field {
	var items []any
	for range g.IntN(3) {
		items = append(items, g.object(depth+1))
	}
	out := []field{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}
	if depth == 0 && g.IntN(3) == 0 {
		g.objects++
		silent := []field{{"metadata", []field{{"name", fmt.Sprintf("o%d", g.objects)}, {"namespace", "n"}}}}
		out = []field{{"apiVersion", "v1"}, {"kind", "ServiceList"}, {"items", append(items, silent)}}
	}
	if g.IntN(4) == 0 {
		out = append(out, field{"metadata", []field{{"resourceVersion", "5"}}})
	}
	return g.spoiled(out, depth)
}

// spoiled adds keys that some decoders take for others.
func (g *generator) spoiled(object []field, depth int) []field {
	if g.harmless || g.IntN(5) > 0 {
		return object
	}
	other := any([]any{})
	if depth < 3 && g.IntN(2) == 0 {
		other = []any{g.object(depth + 1)}
	}
	more := field{pick(g, "Kind", "kind", "KIND", "items", "Items", "apiversion", "apiVersion", "metadata", "Metadata", "loadBalancers", "steps", "ſpec"),
		any(pick(g, "ConfigMap", "List", "Service", "ServiceList", ""))}
	switch more.key {
	case "items", "Items":
		more.value = other
		if g.IntN(4) == 0 {
			more.value = nil
		}
	case "metadata", "Metadata":
		more.value = []field{{pick(g, "name", "Name"), "other"}}
	case "apiVersion", "apiversion":
		more.value = pick(g, "v1", "networking.k8s.io/v1")
	}
	if g.IntN(3) == 0 {
		return append([]field{more}, object...)
	}
	return append(object, more)
}

func inJSON(value any, space string) string {
	switch v := value.(type) {
	case []field:
		var parts []string
		for _, f := range v {
			parts = append(parts, inJSON(f.key, "")+":"+space+inJSON(f.value, space))
		}
		return "{" + space + strings.Join(parts, ","+space) + space + "}"
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, inJSON(item, space))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	out, _ := json.Marshal(value)
	return string(out)
}

func inYAML(object []field, indent string) string {
	var b strings.Builder
	for _, f := range object {
		switch v := f.value.(type) {
		case []field:
			fmt.Fprintf(&b, "%s%s:\n%s", indent, f.key, inYAML(v, indent+"  "))
		case []any:
			if len(v) == 0 {
				fmt.Fprintf(&b, "%s%s: []\n", indent, f.key)
				continue
			}
			fmt.Fprintf(&b, "%s%s:\n", indent, f.key)
			for _, item := range v {
				inner := inYAML(item.([]field), indent+"  ")
				fmt.Fprintf(&b, "%s- %s", indent, strings.TrimPrefix(inner, indent+"  "))
			}
		default:
			fmt.Fprintf(&b, "%s%s: %s\n", indent, f.key, inJSON(v, ""))
		}
	}
	return b.String()
}

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }
