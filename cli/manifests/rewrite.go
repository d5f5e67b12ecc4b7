package manifests

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// This file writes an object anew, with the comments and the order of its author.

// Rewritten returns the text of an object with other fields. What stays the same keeps its comments, its
// order and its style. It reports false for an object that is in no file, that is inside another one, or
// whose text is JSON or has anchors.
func (p Places) Rewritten(object string, fields map[string]any) ([]byte, bool) {
	doc, known := p[object]
	var root yaml.Node
	if !known || doc.inside != "" || yaml.Unmarshal(doc.text, &root) != nil || len(root.Content) != 1 {
		return nil, false
	}
	top := root.Content[0]
	if top.Kind != yaml.MappingNode || top.Style&yaml.FlowStyle != 0 || !isPlain(top) {
		return nil, false
	}
	root.Content[0] = merger{}.merged(top, fields)
	var out bytes.Buffer
	to := yaml.NewEncoder(&out)
	const spaces = 2
	to.SetIndent(spaces)
	if isCompact(top) {
		to.CompactSeqIndent()
	}
	if err := to.Encode(&root); err != nil || to.Close() != nil {
		return nil, false
	}
	written, err := ToJSON(out.Bytes())
	if err != nil {
		return nil, false
	}
	want, err := json.Marshal(fields)
	return out.Bytes(), err == nil && bytes.Equal(written, want)
}

// isPlain reports whether a node has no anchors and aliases, and no key twice.
func isPlain(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return false
	}
	keys := map[string]bool{}
	for i, inner := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if keys[inner.Value] {
				return false
			}
			keys[inner.Value] = true
		}
		if !isPlain(inner) {
			return false
		}
	}
	return true
}

// isCompact reports whether the first list below a key begins in the column of the key.
func isCompact(n *yaml.Node) bool {
	at := n
	var inside func(*yaml.Node) *yaml.Node // the key of the first list
	inside = func(n *yaml.Node) *yaml.Node {
		for i, inner := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 1 && inner.Kind == yaml.SequenceNode && inner.Style&yaml.FlowStyle == 0 {
				at = inner
				return n.Content[i-1]
			}
			if key := inside(inner); key != nil {
				return key
			}
		}
		return nil
	}
	key := inside(n)
	return key != nil && key.Column == at.Column
}

// A merger merges nodes with values. It remembers the JSON of nodes.
type merger map[*yaml.Node]string

// of returns the JSON of a node; "" if it has none.
func (m merger) of(n *yaml.Node) string {
	text, known := m[n]
	if !known {
		var value any
		if err := n.Decode(&value); err == nil {
			text = jsonOf(value)
		}
		m[n] = text
	}
	return text
}

// jsonOf returns the JSON of a value; "" if it has none.
func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// merged returns a node with a value. Parts that have theirs stay as they are.
func (m merger) merged(n *yaml.Node, value any) *yaml.Node {
	if m.of(n) == jsonOf(value) {
		return n
	}
	switch value := value.(type) {
	case map[string]any:
		if n.Kind == yaml.MappingNode {
			return m.mergedMap(n, value)
		}
	case []any:
		if n.Kind == yaml.SequenceNode {
			return m.mergedList(n, value)
		}
	}
	out := nodeOf(value)
	out.HeadComment, out.LineComment, out.FootComment = n.HeadComment, n.LineComment, n.FootComment
	return out
}

func (m merger) mergedMap(n *yaml.Node, value map[string]any) *yaml.Node {
	out := *n
	out.Content = nil
	more := maps.Clone(value)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if inner, has := more[key.Value]; has {
			out.Content = append(out.Content, key, m.merged(n.Content[i+1], inner))
			delete(more, key.Value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(more)) {
		out.Content = append(out.Content, nodeOf(key), nodeOf(more[key]))
	}
	return &out
}

// mergedList takes for each value the node that has it, or the one that has most of its fields.
func (m merger) mergedList(n *yaml.Node, value []any) *yaml.Node {
	out := *n
	out.Content = make([]*yaml.Node, len(value))
	left := slices.Clone(n.Content)
	take := func(at, i int) {
		out.Content[i] = m.merged(left[at], value[i])
		left = slices.Delete(left, at, at+1)
	}
	for i, one := range value {
		text := jsonOf(one)
		if at := slices.IndexFunc(left, func(l *yaml.Node) bool { return m.of(l) == text }); at >= 0 {
			take(at, i)
		}
	}
	for i, one := range value {
		if out.Content[i] != nil {
			continue
		}
		fields := map[string]string{}
		if inner, is := one.(map[string]any); is {
			for key, value := range inner {
				fields[key] = jsonOf(value)
			}
		}
		best, most := -1, 0
		for at, l := range left {
			if n := m.shared(l, fields); n > most {
				best, most = at, n
			}
		}
		if best >= 0 {
			take(best, i)
		} else {
			out.Content[i] = nodeOf(one)
		}
	}
	return &out
}

// shared returns how many fields of a node have these values.
func (m merger) shared(n *yaml.Node, fields map[string]string) (count int) {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if text, has := fields[n.Content[i].Value]; has && m.of(n.Content[i+1]) == text {
			count++
		}
	}
	return count
}

// nodeOf returns a new node.
func nodeOf(value any) *yaml.Node {
	var out yaml.Node
	if err := out.Encode(value); err != nil {
		panic(err) // it is JSON
	}
	return &out
}
