package manifests

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// This file limits the aliases of YAML. A short text with aliases of aliases, or with many aliases
// of one long text, can stand for gigabytes, and CI plans manifests of untrusted changes.

// checkExpansion refuses a document that is larger than a manifest with its aliases replaced. It
// replaces none.
func checkExpansion(text []byte) error {
	if !bytes.Contains(text, []byte("*")) || !bytes.Contains(text, []byte("&")) {
		return nil // there is no alias
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil //nolint:nilerr // the reader of the document says the same, with the line
	}
	e := expansion{sizes: map[*yaml.Node]int{}}
	if e.size(&document) > maxManifest {
		return fmt.Errorf("with its aliases replaced it is larger than %d MiB, too large for a manifest",
			maxManifest>>20)
	}
	return nil
}

// An expansion holds the sizes of nodes, so that each is measured once.
type expansion struct {
	sizes map[*yaml.Node]int
}

// size returns the length of a node with aliases replaced, or a number over maxManifest. An alias
// of a node around it, which YAML permits, has no end.
func (e expansion) size(n *yaml.Node) int {
	const open = -1
	switch known, ok := e.sizes[n]; {
	case ok && known == open:
		return maxManifest + 1
	case ok:
		return known
	}
	e.sizes[n] = open
	total := len(n.Value) + 1
	if n.Kind == yaml.AliasNode {
		total = e.size(n.Alias)
	}
	for _, child := range n.Content {
		total = min(total+e.size(child), maxManifest+1)
	}
	e.sizes[n] = total
	return total
}
