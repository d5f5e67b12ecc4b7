// Package plainyaml reads YAML, of which JSON is a part, from texts that people write into objects.
// Only lists, mappings and scalars are read. Aliases, by which a short text becomes a long one, and
// tags are refused before the text is decoded, so that memory is linear in its length.
package plainyaml

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/model/diag"
)

// deepest is the most levels of nested lists and mappings.
const deepest = 8

// Read reads one document.
func Read(text string) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("it is empty")
	case err != nil:
		why := diag.Cut(strings.TrimPrefix(err.Error(), "yaml: "))
		return nil, errors.New("it is neither YAML nor JSON: " + why)
	}
	if decoder.Decode(&second) == nil {
		return nil, errors.New("it has more than one document")
	}
	if len(document.Content) == 0 {
		return nil, errors.New("it is empty")
	}
	return document.Content[0], check(document.Content[0], 0)
}

// check refuses nodes that are not plain lists, mappings or scalars, duplicate keys, and deep
// nesting.
func check(n *yaml.Node, depth int) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return fmt.Errorf("line %d: anchors and aliases are not read", n.Line)
	case n.Style&yaml.TaggedStyle != 0:
		return fmt.Errorf("line %d: tags are not read", n.Line)
	case n.Tag == "!!merge":
		return fmt.Errorf("line %d: merge keys are not read", n.Line)
	case depth > deepest:
		return fmt.Errorf("line %d: more than %d lists and mappings lie in each other", n.Line, deepest)
	}
	keys := map[string]bool{}
	for i, child := range n.Content {
		if err := check(child, depth+1); err != nil {
			return err
		}
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			continue
		}
		if child.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a key is not a text", child.Line)
		}
		if keys[child.Value] {
			return fmt.Errorf("line %d: %s is set twice", child.Line, diag.Quote(child.Value))
		}
		keys[child.Value] = true
	}
	return nil
}

// IsNull reports whether a node is null.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// List returns the items of a list.
func List(n *yaml.Node) ([]*yaml.Node, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: it is not a list", n.Line)
	}
	return n.Content, nil
}

// Text returns the original text of a scalar: 1.10 and yes are texts, too.
func Text(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || IsNull(n) {
		return "", fmt.Errorf("line %d: it is not a text", n.Line)
	}
	return n.Value, nil
}

// Texts returns a list of texts.
func Texts(n *yaml.Node) ([]string, error) {
	items, err := List(n)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(items))
	for i, item := range items {
		if texts[i], err = Text(item); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// Fields calls, for each field of a mapping, the function of that name. A field without a function is an
// error.
func Fields(n *yaml.Node, fields map[string]func(*yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: it is not a mapping", n.Line)
	}
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i].Value
		read, known := fields[name]
		if !known {
			return fmt.Errorf("line %d: there is no field %s", n.Content[i].Line, diag.Quote(name))
		}
		if err := read(n.Content[i+1]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Entries returns a mapping of texts to lists of texts.
func Entries(n *yaml.Node) (map[string][]string, error) {
	if IsNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: it is not a mapping", n.Line)
	}
	out := make(map[string][]string, len(n.Content)/2)
	for pair := range slices.Chunk(n.Content, 2) {
		texts, err := Texts(pair[1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", diag.Quote(pair[0].Value), err)
		}
		out[pair[0].Value] = texts
	}
	return out, nil
}
