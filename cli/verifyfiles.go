package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/model/expect"
)

// This file reads files with expectations: a file of expectations, or manifests of the ConfigMap
// that classes name.

// A fileExpectation is an expectation in a file.
type fileExpectation struct {
	expect.Expectation
	File string
}

// mostBytes is the limit for the size of a file. A ConfigMap has at most 1 MiB
// (https://kubernetes.io/docs/concepts/configuration/configmap/).
const mostBytes = 1 << 20

// readExpectations reads the expectations of files; - is standard input. Errors have file and line.
func readExpectations(files []string, stdin io.Reader) ([]fileExpectation, error) {
	var out []fileExpectation
	for _, file := range files {
		text, err := contents(file, stdin)
		if err != nil {
			return nil, err
		}
		file := manifests.NameOf(file)
		all, err := expectationsIn(text)
		if err != nil {
			return nil, errorAt(file, err)
		}
		for _, e := range all {
			same := func(o fileExpectation) bool { return o.Name == e.Name }
			if at := slices.IndexFunc(out, same); at >= 0 {
				before := manifests.Place{File: out[at].File, Line: out[at].Line}
				return nil, errorAt(file, expect.Error{Line: e.Line,
					Text: fmt.Sprintf("name %q is used in %s", e.Name, before)})
			}
			out = append(out, fileExpectation{e, file})
		}
	}
	return out, nil
}

func contents(file string, stdin io.Reader) ([]byte, error) {
	if file != manifests.StandardInput {
		text, err := manifests.ReadFile(file, mostBytes)
		if err != nil {
			return nil, fmt.Errorf("reading expectations: %s: %w", file, err)
		}
		return text, nil
	}
	text, err := io.ReadAll(io.LimitReader(stdin, mostBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading expectations: %w", err)
	case len(text) > mostBytes:
		return nil, fmt.Errorf("standard input: it has more than %d bytes", mostBytes)
	}
	return text, nil
}

// errorAt returns an error with its file and line.
func errorAt(file string, err error) error {
	if e, ok := errors.AsType[expect.Error](err); ok {
		return manifests.Problem{
			Place: manifests.Place{File: file, Line: e.Line}, Message: e.Message()}
	}
	return fmt.Errorf("%s: %w", file, err)
}

// expectationsIn reads the expectations of a file: a list of its own, or one or more ConfigMaps.
func expectationsIn(text []byte) ([]expect.Expectation, error) {
	var out []expect.Expectation
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for found := false; ; {
		var document yaml.Node
		err := documents.Decode(&document)
		switch {
		case !found && (err != nil || kindOf(&document) == ""):
			return expect.Read(string(text)) // which says what is wrong
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, err
		case document.Content[0].Tag == "!!null": // between two separators
			continue
		}
		more, err := expectationsOf(&document)
		if err != nil {
			return nil, err
		}
		found, out = true, append(out, more...)
	}
}

// expectationsOf reads the expectations of a ConfigMap.
func expectationsOf(document *yaml.Node) (out []expect.Expectation, err error) {
	data := fieldOf(document, "data")
	switch line := document.Content[0].Line; {
	case kindOf(document) != "ConfigMap":
		return nil, expect.Error{Line: line, Text: "it is no ConfigMap, and no list of expectations"}
	case data.Kind != yaml.MappingNode || len(data.Content) == 0:
		return nil, expect.Error{Line: line, Text: "the ConfigMap has no data"}
	}
	for pair := range slices.Chunk(data.Content, 2) {
		before := pair[1].Line - 1
		if pair[1].Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			before++ // the text begins in the line behind the | or >
		}
		found, err := expect.Read(pair[1].Value)
		if e, ok := errors.AsType[expect.Error](err); ok {
			e.Line += before
			return nil, e
		}
		for i := range found {
			found[i].Line += before
		}
		out = append(out, found...)
	}
	return out, nil
}

// kindOf returns the kind of the object in a document; empty if there is none.
func kindOf(document *yaml.Node) string { return fieldOf(document, "kind").Value }

// fieldOf returns a field of the object in a document; an empty node if it is missing.
func fieldOf(document *yaml.Node, name string) *yaml.Node {
	for pair := range slices.Chunk(document.Content[0].Content, 2) {
		if pair[0].Value == name && document.Content[0].Kind == yaml.MappingNode {
			return pair[1]
		}
	}
	return &yaml.Node{}
}
