package manifests

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// This file finds the lines of fields. A document is parsed for that once, when a line is asked
// for.

// Places know where objects and their fields stand. Keys are the names of objects, as diagnostics
// have them.
type Places map[string]document

// Of returns the place of a field of an object, or of the nearest field around it. An empty field
// is the object. It reports false for an object that is in no file.
func (p Places) Of(object, field string) (Place, bool) {
	doc, known := p[object]
	if !known {
		return Place{}, false
	}
	return doc.place(field), true
}

// A source is a document of a file.
type source struct {
	*parsed
	line int // where it begins
}

// A parsed has the text of a document, and its nodes when they have been asked for.
type parsed struct {
	file  string
	first int // line of the text in its file
	text  []byte
	done  bool
	root  *yaml.Node // nil for a text that does not parse
}

// nodes returns the root of the document; nil if it has none.
func (p *parsed) nodes() *yaml.Node {
	if p.done {
		return p.root
	}
	p.done = true
	var document yaml.Node
	if err := yaml.Unmarshal(p.text, &document); err == nil && len(document.Content) == 1 {
		p.root = document.Content[0]
	}
	return p.root
}

// place returns the place of a field of the document's object.
func (d document) place(field string) Place {
	path := strings.TrimPrefix(d.inside+"."+field, ".")
	if strings.Trim(path, ".") == "" {
		return Place{d.file, d.line}
	}
	line := 0
	for at := d.nodes(); at != nil; {
		var found int
		if at, found, path = step(at, strings.TrimLeft(path, ".")); found > 0 {
			line = found
		}
	}
	if line == 0 {
		return Place{d.file, d.line}
	}
	return Place{d.file, d.first + line - 1}
}

// step follows the first part of a path, such as rules in rules[0].host, or [0] in [0].host. It
// returns the node there, its line and the rest of the path; nil if there is none.
func step(at *yaml.Node, path string) (next *yaml.Node, line int, rest string) {
	for at.Kind == yaml.AliasNode {
		at = at.Alias
	}
	switch at.Kind {
	case yaml.SequenceNode:
		number, rest, closed := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(number)
		if !closed || err != nil || i < 0 || i >= len(at.Content) {
			return nil, 0, ""
		}
		return at.Content[i], at.Content[i].Line, rest
	case yaml.MappingNode:
		longest := -1
		for i := 0; i+1 < len(at.Content); i += 2 {
			name := at.Content[i].Value
			after, ok := following(path, name)
			// Of a key that is written twice, the last one counts.
			if ok && len(name) >= longest {
				longest, rest = len(name), after
				next, line = at.Content[i+1], at.Content[i].Line
			}
		}
		return next, line, rest
	}
	return nil, 0, ""
}

// following returns the rest of a path that begins with a key, in brackets or not.
func following(path, key string) (string, bool) {
	if rest, ok := strings.CutPrefix(path, "["+key+"]"); ok {
		return rest, true
	}
	rest, ok := strings.CutPrefix(path, key)
	return rest, ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
