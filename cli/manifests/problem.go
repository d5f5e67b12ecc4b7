package manifests

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// This file describes objects and files that could not be read. Each costs itself: everything else
// is read.

// A Place is the file and the line of an object.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"` // counted from 1; 0 for the whole file
}

// String returns the place in the form of compilers: file:line.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// A Problem is an object or a file that is left out.
type Problem struct {
	Place
	Object  string `json:"object,omitempty"` // as diagnostics name it
	Message string `json:"message"`
	// unread is the text of a document that kubectl cannot read either, so that it makes no object;
	// empty for any other problem.
	unread string
}

// Error returns the problem in one line.
func (p Problem) Error() string {
	parts := []string{p.String(), p.Object, p.Message}
	if p.Object == "" {
		parts = []string{p.String(), p.Message}
	}
	return strings.Join(parts, ": ")
}

// Problems are all objects and files that are left out, where others remain.
type Problems []Problem

// Error returns the problems, one in each line.
func (p Problems) Error() string { return errors.Join(p.Unwrap()...).Error() }

// Unwrap returns each problem as an error.
func (p Problems) Unwrap() []error {
	var out []error
	for _, problem := range p {
		out = append(out, problem)
	}
	return out
}

// Unchanged removes the problems that both sides have: those of equal documents that kubectl cannot read
// either, so that nothing differs that is applied.
func Unchanged(before, after Problems) (left, right, same Problems) {
	there, both := map[string]int{}, map[string]int{}
	for _, p := range after {
		there[p.unread]++
	}
	for _, p := range before {
		if p.unread == "" || there[p.unread] == 0 {
			left = append(left, p)
			continue
		}
		there[p.unread]--
		both[p.unread]++
	}
	for _, p := range after {
		if both[p.unread] == 0 {
			right = append(right, p)
			continue
		}
		both[p.unread]--
		same = append(same, p)
	}
	return left, right, same
}

// ErrNoIngress is returned for files without errors and without an Ingress, which is seldom
// intended.
var ErrNoIngress = errors.New("no Ingress there")

// LeftOut returns the problems of Load that left objects to work on. Any other error is returned as
// it is.
func LeftOut(err error) (Problems, error) {
	if problems, ok := errors.AsType[Problems](err); ok {
		return problems, nil
	}
	return nil, err
}

// AllLeftOut returns the problems of Load, whether or not they left objects. Files without an
// Ingress have none. Any other error is returned as it is.
func AllLeftOut(err error) (Problems, error) {
	if none, ok := errors.AsType[noneLeft](err); ok {
		return none.Problems, nil
	}
	if errors.Is(err, ErrNoIngress) {
		return nil, nil
	}
	return LeftOut(err)
}

// noneLeft has the problems of input without any Ingress left.
type noneLeft struct{ Problems }

// parserLine is where parsers of YAML write the line.
var parserLine = regexp.MustCompile(`\bline ([0-9]+): `)

// unreadable returns the problem of text that is not YAML. The line is that of the parser, or else
// that where the document begins.
func unreadable(file string, p part, err error) Problem {
	text := OneLine(err.Error())
	line := p.firstLine()
	if at := parserLine.FindStringSubmatchIndex(text); at != nil {
		inside, _ := strconv.Atoi(text[at[2]:at[3]]) // the expression matches digits
		line = p.line + inside - 1
		text = text[:at[0]] + text[at[1]:]
	}
	text = parserLine.ReplaceAllStringFunc(text, func(found string) string {
		inside, _ := strconv.Atoi(parserLine.FindStringSubmatch(found)[1])
		return fmt.Sprintf("line %d: ", p.line+inside-1)
	})
	const most = 1000 // a parser names every key that is written twice
	if text = strings.TrimSpace(text); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " and more"
	}
	return Problem{Place: Place{file, line}, Message: "reading YAML: " + text}
}

// OneLine returns the text of an error without line breaks, and without its parser's introduction.
func OneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = strings.TrimPrefix(text, "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "yaml: ")
	return strings.TrimPrefix(text, "unmarshal errors: ")
}
