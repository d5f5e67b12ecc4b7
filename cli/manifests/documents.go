package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"sigs.k8s.io/yaml"
)

// This file splits a file into documents: YAML ones between "---" lines, or JSON ones. Each has the
// line that it begins at, for errors.

// A document is one object of a file, as JSON.
type document struct {
	line int // where it starts, counted from 1
	json []byte
}

// documents reads all documents of a file, except empty ones. A document that is not YAML is left
// out, and the others are read.
func documents(file string, text []byte) ([]document, Problems) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if docs, ok := jsonDocuments(text); ok {
		return docs, nil
	}
	var docs []document
	var problems Problems
	for _, part := range split(text) {
		if err := checkExpansion(part.text); err != nil {
			problems = append(problems, unreadable(file, part.firstLine(), err))
			continue
		}
		data, err := yaml.YAMLToJSONStrict(part.text)
		if err != nil {
			problems = append(problems, unreadable(file, part.firstLine(), located(part, err)))
			continue
		}
		if string(data) != "null" {
			docs = append(docs, document{part.firstLine(), data})
		}
	}
	return docs, problems
}

// jsonDocuments reads a file that has only JSON values. Anything else is left to the YAML parser,
// which reads JSON, too, and has clearer errors.
func jsonDocuments(text []byte) ([]document, bool) {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return nil, false
	}
	var docs []document
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return docs, true
		}
		if err != nil {
			return nil, false
		}
		start := int(decoder.InputOffset()) - len(value)
		docs = append(docs, document{1 + bytes.Count(text[:start], []byte("\n")), value})
	}
}

// A part is the text of one YAML document, with the number of lines before it.
type part struct {
	before int
	text   []byte
}

// split splits a file at its "---" lines. No other line can start with three dashes and a space:
// YAML forbids that even within block scalars.
func split(text []byte) []part {
	var parts []part
	start, before, line := 0, 0, 0
	for at := 0; at < len(text); line++ {
		end := len(text)
		if newline := bytes.IndexByte(text[at:], '\n'); newline >= 0 {
			end = at + newline + 1
		}
		if rest, ok := bytes.CutPrefix(text[at:end], []byte("---")); ok &&
			(len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n")) {
			parts = append(parts, part{before, text[start:at]})
			start, before = at, line
		}
		at = end
	}
	return append(parts, part{before, text[start:]})
}

// firstLine returns the first line that is neither empty nor a comment.
func (p part) firstLine() int {
	line := p.before + 1
	for text := range bytes.Lines(p.text) {
		text = bytes.TrimSpace(text)
		if len(text) > 0 && text[0] != '#' && !bytes.Equal(text, []byte("---")) {
			break
		}
		line++
	}
	return line
}

// located returns the parser's error with line numbers of the file: it parses the part again with
// empty lines in front.
func located(p part, err error) error {
	_, again := yaml.YAMLToJSONStrict(append(bytes.Repeat([]byte("\n"), p.before), p.text...))
	if again == nil {
		return err
	}
	return again
}
