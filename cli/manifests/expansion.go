package manifests

import (
	"bytes"
	"fmt"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
)

// This file limits the aliases of YAML. A short text with aliases of aliases, or with many aliases
// of one long text, can stand for gigabytes, and CI plans manifests of untrusted changes.

// mostExpanded is how many bytes the aliases of all files may stand for.
const mostExpanded = 8 << 20

// nodeSize is what a node counts besides its text. A node takes more memory than its text.
const nodeSize = 16

// A Budget limits the text that YAML aliases add, over all files of a command. The zero value has
// nothing spent.
type Budget struct{ used int }

// take uses the budget for the aliases of a document, and replaces none. It fails if too little is
// left.
func (b *Budget) take(text []byte) error {
	if !bytes.Contains(text, []byte("*")) || !bytes.Contains(text, []byte("&")) {
		return nil // there is no alias
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return uncounted(text, err)
	}
	e := expansion{sizes: map[*yaml.Node]int{}}
	if b.used += e.size(&document) - plainSize(&document); b.used > mostExpanded {
		return fmt.Errorf("with their aliases replaced, the documents up to this one are larger by "+
			"%d MiB and more, too large for manifests", mostExpanded>>20)
	}
	return nil
}

// uncounted returns the error of a text whose aliases could not be counted, unless the reader of
// documents, which is another one, refuses it, too: then it says so, with the line. Nothing is
// decoded into no fields.
func uncounted(text []byte, err error) error {
	if yamlv2.Unmarshal(text, &struct{}{}) == nil {
		return fmt.Errorf("its aliases cannot be counted: %w", err)
	}
	return nil
}

// plainSize returns the size of a node with its aliases as they are.
func plainSize(n *yaml.Node) int {
	total := len(n.Value) + nodeSize
	for _, child := range n.Content {
		total += plainSize(child)
	}
	return total
}

// An expansion holds the sizes of nodes, so that each is measured once.
type expansion struct {
	sizes map[*yaml.Node]int
}

// size returns the size of a node with aliases replaced, or a number over any limit. An alias of a
// node around it, which YAML permits, has no end.
func (e expansion) size(n *yaml.Node) int {
	const open, endless = -1, 1 << 40
	switch known, ok := e.sizes[n]; {
	case ok && known == open:
		return endless
	case ok:
		return known
	}
	e.sizes[n] = open
	total := len(n.Value) + nodeSize
	if n.Kind == yaml.AliasNode {
		total = e.size(n.Alias)
	}
	for _, child := range n.Content {
		total = min(total+e.size(child), endless)
	}
	e.sizes[n] = total
	return total
}
