package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers/wire"
)

// This file reads a body strictly. It refuses errors that encoding/json ignores: unknown fields,
// fields in other letter case, duplicate fields, null, and text after the end. Enumerated values
// are checked in values.go.

const (
	mostValues = 200_000 // in one request: a decoded value needs more memory than its text
	deepest    = 64      // levels of settings that only the provider understands
)

// decode reads a body, or returns the error in it.
func decode(body []byte, into any) *v1.Problem {
	if !utf8.Valid(body) {
		return malformedProblem("the body is not UTF-8")
	}
	w := walker{d: json.NewDecoder(bytes.NewReader(body))}
	w.d.UseNumber()
	if f := w.value(reflect.TypeOf(into).Elem()); f != nil {
		return f.problem()
	}
	if _, err := w.d.Token(); !errors.Is(err, io.EOF) {
		return malformedProblem("there is something behind the end of the body")
	}
	if err := json.Unmarshal(body, into); err != nil {
		return malformedProblem("the body cannot be read: %v", err)
	}
	return nil
}

// A walker reads a text beside the type of its value.
type walker struct {
	d      *json.Decoder
	values int
}

// A fault is an error with its place.
type fault struct {
	kind  v1.ProblemType
	says  string
	place string
}

func (f *fault) problem() *v1.Problem {
	place := strings.TrimPrefix(f.place, ".")
	if place == "" {
		place = "the body"
	}
	return wire.NewProblem(f.kind, place+" "+f.says)
}

// in returns a fault with the place around it.
func (f *fault) in(place string) *fault {
	if f != nil {
		f.place = place + f.place
	}
	return f
}

func wrong(format string, args ...any) *fault {
	return &fault{kind: v1.ProblemMalformed, says: fmt.Sprintf(format, args...)}
}

func unknown(format string, args ...any) *fault {
	return &fault{kind: v1.ProblemUnknown, says: fmt.Sprintf(format, args...)}
}

var raw = reflect.TypeFor[json.RawMessage]()

// value reads a value of a type.
func (w *walker) value(t reflect.Type) *fault {
	token, f := w.token()
	if f != nil {
		return f
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == raw {
		return w.skip(token, deepest)
	}
	switch token := token.(type) {
	case nil:
		return wrong("is null; a field without a value is left out")
	case json.Delim:
		switch {
		case token == '{' && t.Kind() == reflect.Struct:
			return w.object(fieldsOf(t))
		case token == '{' && t.Kind() == reflect.Map:
			return w.entries(t.Elem())
		case token == '[' && t.Kind() == reflect.Slice:
			return w.elements(t.Elem())
		}
		return wrong("begins with %q, and should be %s", token.String(), nameOf(t))
	case string:
		if t.Kind() != reflect.String {
			return wrong("is a text, and should be %s", nameOf(t))
		}
	case json.Number:
		if k := t.Kind(); k != reflect.Int && k != reflect.Int32 && k != reflect.Int64 {
			return wrong("is a number, and should be %s", nameOf(t))
		}
	case bool:
		if t.Kind() != reflect.Bool {
			return wrong("is %v, and should be %s", token, nameOf(t))
		}
	}
	return nil
}

func (w *walker) token() (json.Token, *fault) {
	token, err := w.d.Token()
	if errors.Is(err, io.EOF) {
		return nil, wrong("ends too early")
	}
	if err != nil {
		return nil, wrong("is no JSON: %v", err)
	}
	if w.values++; w.values > mostValues {
		return nil, &fault{kind: v1.ProblemTooLarge,
			says: fmt.Sprintf("is too large: a request has at most %d names and values", mostValues)}
	}
	return token, nil
}

// object reads the fields of an object after its brace.
func (w *walker) object(fields map[string]reflect.Type) *fault {
	return w.members(func(name string) *fault {
		to, known := fields[name]
		if !known {
			return unknown("has the field %q, which is not known", clip(name))
		}
		return w.value(to).in("." + name)
	})
}

// entries reads a map after its brace.
func (w *walker) entries(t reflect.Type) *fault {
	return w.members(func(name string) *fault { return w.value(t).in("." + clip(name)) })
}

// members reads the members of an object, each name once.
func (w *walker) members(read func(name string) *fault) *fault {
	seen := map[string]bool{}
	for w.d.More() {
		token, f := w.token()
		if f != nil {
			return f
		}
		name, _ := token.(string) // the decoder takes nothing else for a name
		if seen[name] {
			return wrong("has the field %q twice", clip(name))
		}
		seen[name] = true
		if f := read(name); f != nil {
			return f
		}
	}
	_, f := w.token()
	return f
}

// elements reads a list after its bracket.
func (w *walker) elements(t reflect.Type) *fault {
	for i := 0; w.d.More(); i++ {
		if f := w.value(t); f != nil {
			return f.in(fmt.Sprintf("[%d]", i))
		}
	}
	_, f := w.token()
	return f
}

// skip reads the rest of a value of any type, after its first token.
func (w *walker) skip(token json.Token, deep int) *fault {
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	if deep == 0 {
		return wrong("has more than %d levels", deepest)
	}
	next := func() *fault {
		token, f := w.token()
		if f != nil {
			return f
		}
		return w.skip(token, deep-1)
	}
	if open == '{' {
		return w.members(func(string) *fault { return next() })
	}
	for w.d.More() {
		if f := next(); f != nil {
			return f
		}
	}
	_, f := w.token()
	return f
}

var fieldsOfType sync.Map // of reflect.Type to map[string]reflect.Type

// fieldsOf returns the types of a struct's fields, by their names on the wire.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := fieldsOfType.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		fields[wireName(t.Field(i))] = t.Field(i).Type
	}
	fieldsOfType.Store(t, fields)
	return fields
}

// wireName returns the name of a field on the wire.
func wireName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// nameOf returns the JSON word for the values of a type.
func nameOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	default:
		return "a number"
	}
}
