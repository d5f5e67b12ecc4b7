package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	"sigs.k8s.io/yaml"
)

// This file splits a file into documents as kubectl does, so that both see the same objects: YAML
// between "---" lines, or JSON values after each other, or first a JSON value and then YAML
// (https://github.com/kubernetes/kubernetes/blob/v1.37.0/staging/src/k8s.io/apimachinery/pkg/util/yaml/decoder.go).
// test/kubectl compares the two.

// A document is one object of a file.
type document struct {
	json []byte
	source
	inside string // the path of the object in the text, such as items[2]
}

// jsonWithin is how far into a file kubectl looks for the brace of JSON.
const jsonWithin = 4096

// decoded returns a text as UTF-8, and without a byte order mark. Like kubectl, it takes a text for
// UTF-16 if it has the mark of that
// (https://github.com/kubernetes/kubernetes/blob/v1.37.0/staging/src/k8s.io/cli-runtime/pkg/resource/visitor.go).
func decoded(text []byte) ([]byte, error) {
	out, _, err := transform.Bytes(unicode.BOMOverride(unicode.UTF8.NewDecoder()), text)
	return out, err
}

// documents reads all documents of a file, except empty ones. A document that is not YAML is left
// out, and the others are read.
func (l *loader) documents(file string, text []byte) []document {
	var docs []document
	text, err := decoded(text)
	if err != nil {
		l.problem(Problem{Place: Place{File: file}, Message: err.Error()})
		return nil
	}
	line := 1
	start := bytes.TrimSpace(text[:min(len(text), jsonWithin)])
	if bytes.HasPrefix(start, []byte("{")) {
		var rest []byte
		docs, rest, err = jsonDocuments(file, text)
		if line += bytes.Count(text[:len(text)-len(rest)], []byte("\n")); len(docs) > 1 && err != nil {
			l.problem(Problem{Place: Place{file, line}, Message: "reading JSON: " + OneLine(err.Error())})
			return docs
		}
		text = rest
	}
	for _, p := range split(text, line) {
		if p.isBlank() {
			continue
		}
		if data := l.toJSON(file, p); data != nil && string(data) != "null" {
			docs = append(docs, document{json: data, source: p.source(file)})
		}
	}
	return docs
}

// jsonDocuments reads JSON values up to the end, or up to something else. It returns the rest,
// without the end of the last value's line.
func jsonDocuments(file string, text []byte) (docs []document, rest []byte, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	line, counted := 1, 0
	for {
		var value json.RawMessage
		before := decoder.InputOffset()
		if err = decoder.Decode(&value); errors.Is(err, io.EOF) {
			return docs, nil, nil
		}
		if err != nil {
			return docs, afterLine(text[before:]), err
		}
		start := int(decoder.InputOffset()) - len(value)
		line, counted = line+bytes.Count(text[counted:start], []byte("\n")), start
		docs = append(docs, document{json: value, source: part{line, value}.source(file)})
	}
}

// afterLine returns a text without white space at its start, up to the end of the line.
func afterLine(text []byte) []byte {
	rest := bytes.TrimLeft(text, " \t\r\v\f")
	return bytes.TrimPrefix(rest, []byte("\n"))
}

// A part is the text of one document, with the line of the file at which it begins, or a line that
// kubectl does not take for a separator although YAML does.
type part struct {
	line int
	text []byte
}

// source returns the place of the document in its file.
func (p part) source(file string) source {
	return source{&parsed{file: file, first: p.line, text: p.text}, p.firstLine()}
}

// split splits a text at its "---" lines. The text begins at a line of its file.
func split(text []byte, line int) []part {
	var parts []part
	start, first := 0, line
	for at := 0; at < len(text); line++ {
		end := len(text)
		if newline := bytes.IndexByte(text[at:], '\n'); newline >= 0 {
			end = at + newline + 1
		}
		if separates(text[at:end]) && at > start { // kubectl keeps one at the start of a document
			parts = append(parts, part{first, text[start:at]})
			start, first = end, line+1
		}
		at = end
	}
	return append(parts, part{first, text[start:]})
}

// separates reports whether a line separates documents: behind the dashes there is nothing, or a
// comment.
func separates(line []byte) bool {
	rest, dashes := bytes.CutPrefix(line, []byte("---"))
	rest = bytes.TrimSpace(rest)
	return dashes && (len(rest) == 0 || rest[0] == '#')
}

// isEmpty reports whether a line is blank, a comment or a separator.
func isEmpty(line []byte) bool {
	text := bytes.TrimSpace(line)
	return len(text) == 0 || text[0] == '#' || separates(line)
}

// isBlank reports whether a part has only such lines.
func (p part) isBlank() bool {
	for line := range bytes.Lines(p.text) {
		if !isEmpty(line) {
			return false
		}
	}
	return true
}

// firstLine returns the first line that has something.
func (p part) firstLine() int {
	line := p.line
	for text := range bytes.Lines(p.text) {
		if !isEmpty(text) {
			break
		}
		line++
	}
	return line
}

// badSeparator returns the first line that begins with dashes and goes on with something else than
// a comment; 0 if there is none. kubectl stops there.
func (p part) badSeparator() int {
	line := p.line
	for text := range bytes.Lines(p.text) {
		if bytes.HasPrefix(text, []byte("---")) && !separates(text) {
			return line
		}
		line++
	}
	return 0
}

// toJSON returns a document as JSON, or nil if it cannot be read.
func (l *loader) toJSON(file string, p part) []byte {
	if line := p.badSeparator(); line > 0 {
		l.problem(Problem{Place: Place{file, line}, Message: "reading YAML: a document begins on the " +
			"line of its ---, where kubectl does not read it; begin it on the next line"})
		return nil
	}
	if err := l.budget.take(p.text); err != nil {
		l.problem(Problem{Place: Place{file, p.firstLine()}, Message: "reading YAML: " + err.Error()})
		return nil
	}
	data, err := yaml.YAMLToJSONStrict(p.text)
	if err == nil {
		return data
	}
	problem := unreadable(file, p, err)
	if _, lenient := yaml.YAMLToJSON(p.text); lenient != nil {
		problem.unread = string(p.text)
	}
	l.problem(problem)
	return nil
}

// ToJSON returns a text of one document, in YAML or JSON, as JSON. Its aliases are limited, as
// those of manifests are.
func ToJSON(text []byte) ([]byte, error) {
	text, err := decoded(text)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) || len(text) == 0 {
		return text, nil
	}
	if err := new(Budget).take(text); err != nil {
		return nil, fmt.Errorf("reading YAML: %w", err)
	}
	out, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		p := unreadable("", part{1, text}, err)
		return nil, fmt.Errorf("line %d: %s", p.Line, p.Message)
	}
	return out, nil
}
