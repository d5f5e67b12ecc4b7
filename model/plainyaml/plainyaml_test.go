package plainyaml

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestOnlyPlainDocumentsAreRead(t *testing.T) {
	for text, refused := range map[string]string{
		"a: [b, {c: d}]":  "",
		`{"a": ["b"]}`:    "",
		"":                "empty",
		"# nothing":       "empty",
		"a: [":            "neither YAML nor JSON",
		"a: b\n---\nc: d": "more than one document",
		"a: &x b":         "anchors and aliases",
		"a: &x b\nc: *x":  "anchors and aliases",
		"a: !!str 1":      "tags are not read",
		"<<: {a: b}":      "merge keys",
		"a: b\na: c":      `"a" is set twice`,
		"[a]: b":          "a key is not a text",
		strings.Repeat("[", deepest) + "a" + strings.Repeat("]", deepest):     "",
		strings.Repeat("[", deepest+1) + "a" + strings.Repeat("]", deepest+1): "lie in each other",
	} {
		_, err := Read(text)
		if (err == nil) != (refused == "") || err != nil && !strings.Contains(err.Error(), refused) {
			t.Errorf("%q: %v, want %q", text, err, refused)
		}
	}
}

func TestTextsAreReadAsWritten(t *testing.T) {
	n := read(t, "[1.10, yes, 'a b', \"\"]")
	if got, err := Texts(n); err != nil || !slices.Equal(got, []string{"1.10", "yes", "a b", ""}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"a", "[null]", "[[a]]", "{a: b}"} {
		if got, err := Texts(read(t, text)); err == nil {
			t.Errorf("%s is read as %q", text, got)
		}
	}
}

func TestFieldsHaveToBeKnown(t *testing.T) {
	var a string
	fields := map[string]func(*yaml.Node) error{
		"a": func(n *yaml.Node) (err error) { a, err = Text(n); return err },
	}
	if err := Fields(read(t, "a: b"), fields); err != nil || a != "b" {
		t.Errorf("a is %q, %v", a, err)
	}
	for text, refused := range map[string]string{
		"b: c": `there is no field "b"`, "[a]": "not a mapping", "a: []": "a: line 1: it is not a text",
	} {
		if err := Fields(read(t, text), fields); err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("%s: %v, want %q", text, err, refused)
		}
	}
}

func TestEntries(t *testing.T) {
	got, err := Entries(read(t, "{a: [b, c], d: []}"))
	want := map[string][]string{"a": {"b", "c"}, "d": {}}
	if err != nil || !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Entries(read(t, "null")); err != nil || got != nil {
		t.Errorf("of null: %v, %v", got, err)
	}
	for _, text := range []string{"a", "{a: b}"} {
		if _, err := Entries(read(t, text)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

func read(t *testing.T, text string) *yaml.Node {
	t.Helper()
	n, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
