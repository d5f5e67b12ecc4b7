package manifests

import (
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var seed = flag.Uint64("seed", 0, "the `seed` of random fields; 0 draws one")

// This file tests that an object is written anew as its author wrote it.

const authored = `# The shop.

apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  # as in DNS
  name: web
  namespace: shop
  annotations:
    # Slow ones are kept for a while.
    example.com/old: "1" # gone soon
    example.com/kept: 'yes'
spec:
  rules:
  # the front
  - host: www.example.com
  - host: api.example.com # for machines
`

// written writes an object of a text anew, after a change of its fields.
func written(t *testing.T, text string, change func(fields map[string]any)) (string, bool) {
	t.Helper()
	objects, places, err := Files{Paths: []string{StandardInput}, Stdin: strings.NewReader(text)}.Load(t.Context())
	if err != nil || len(objects.Ingresses) == 0 {
		t.Fatal(err)
	}
	var fields map[string]any
	for object := range places {
		if err := json.Unmarshal(places[object].json, &fields); err != nil {
			t.Fatal(err)
		}
	}
	change(fields)
	out, kept := places.Rewritten("Ingress shop/web", fields)
	return string(out), kept
}

func at(fields any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			fields = fields.(map[string]any)[p]
		case int:
			fields = fields.([]any)[p]
		}
	}
	return fields
}

func TestRewritten(t *testing.T) {
	same := func(map[string]any) {}
	wide := strings.NewReplacer("  # the", "    # the", "  - host", "    - host").Replace(authored)
	for name, c := range map[string]struct {
		text   string
		change func(map[string]any)
		texts  []string // and what they become
	}{
		"nothing changes":   {authored, same, nil},
		"lists that indent": {wide, same, nil},
		"an annotation goes, and one comes": {authored, func(f map[string]any) {
			of := at(f, "metadata", "annotations").(map[string]any)
			delete(of, "example.com/old")
			of["example.com/new"] = "a\nb\n"
		}, []string{"    # Slow ones are kept for a while.\n    example.com/old: \"1\" # gone soon\n", "",
			"'yes'\n", "'yes'\n    example.com/new: |\n      a\n      b\n"}},
		"a value changes": {authored, func(f map[string]any) {
			at(f, "metadata", "annotations").(map[string]any)["example.com/old"] = "2"
		}, []string{`"1"`, `"2"`}},
		"a rule goes": {authored, func(f map[string]any) {
			f["spec"].(map[string]any)["rules"] = []any{at(f, "spec", "rules", 1)}
		}, []string{"  # the front\n  - host: www.example.com\n", ""}},
		"rules change places": {authored, func(f map[string]any) {
			of := at(f, "spec", "rules").([]any)
			of[0], of[1] = of[1], of[0]
			of[1].(map[string]any)["http"] = map[string]any{"paths": []any{}}
			of[0].(map[string]any)["http"] = map[string]any{"paths": []any{}}
		}, []string{"  # the front\n  - host: www.example.com\n", "", "# for machines\n",
			"# for machines\n    http:\n      paths: []\n  # the front\n  - host: www.example.com\n    http:\n      paths: []\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := strings.NewReplacer(c.texts...).Replace(c.text)
			if got, kept := written(t, c.text, c.change); !kept || got != want {
				t.Errorf("it is kept: %t\n%s", kept, got)
			}
		})
	}
}

// TestNotRewritten: what cannot be kept is not guessed.
func TestNotRewritten(t *testing.T) {
	for name, text := range map[string]string{
		"JSON":      `{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"rules": [{"host": "a.example.com"}]}}`,
		"an anchor": strings.Replace(authored, "name: web", "name: &n web", 1),
		"a list": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: networking.k8s.io/v1, kind: Ingress, " +
			"metadata: {name: web, namespace: shop}, spec: {rules: [{host: a.example.com}]}}\n",
	} {
		if got, kept := written(t, text, func(map[string]any) {}); kept {
			t.Errorf("%s is kept:\n%s", name, got)
		}
	}
	if _, kept := (Places{}).Rewritten("Ingress shop/web", nil); kept {
		t.Error("an object that is in no file is kept")
	}
}

// TestRewrittenSaysTheSame of random fields: either the text has them, or it is not kept.
func TestRewrittenSaysTheSame(t *testing.T) {
	from := *seed
	if from == 0 {
		from = rand.Uint64()
	}
	t.Logf("-seed %d", from)
	r := rand.New(rand.NewPCG(from, 0))
	kept := 0
	for range 500 {
		var want map[string]any
		got, is := written(t, authored, func(f map[string]any) { scramble(r, f); want = f })
		if !is {
			continue
		}
		kept++
		var has map[string]any
		text, err := ToJSON([]byte(got))
		if err != nil || json.Unmarshal(text, &has) != nil || !reflect.DeepEqual(has, want) {
			t.Fatalf("%v: %v is written as\n%s", err, want, got)
		}
	}
	if kept < 450 {
		t.Errorf("only %d of 500 are kept", kept)
	}
}

// scramble changes fields in place.
func scramble(r *rand.Rand, fields map[string]any) {
	words := []any{"yes", "", "0x1F", " a # b", "- x", "null", "1e3", "a: b", "a\n  b", "\t", true, 7.0, nil,
		map[string]any{"a": []any{"b", map[string]any{}}}, []any{}}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch inner := fields[key].(type) {
		case map[string]any:
			scramble(r, inner)
		case []any:
			r.Shuffle(len(inner), func(i, j int) { inner[i], inner[j] = inner[j], inner[i] })
			if r.IntN(3) == 0 {
				fields[key] = append(inner, words[r.IntN(len(words))])
			}
		}
		switch r.IntN(12) {
		case 0:
			delete(fields, key)
		case 1:
			fields[key] = words[r.IntN(len(words))]
		case 2:
			fields[key+"2"] = words[r.IntN(len(words))]
		}
	}
}
