package expect

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/plainyaml"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads expectations from YAML.

// An Error is an error in a text of expectations.
type Error struct {
	Line  int
	Text  string
	Field string // "" for the whole text
}

func (e Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message()) }

// Message returns the error without its line.
func (e Error) Message() string {
	if e.Field == "" {
		return e.Text
	}
	return e.Field + ": " + e.Text
}

// errorAt returns an error in a line.
func errorAt(line int, format string, args ...any) error {
	return Error{Line: line, Text: fmt.Sprintf(format, args...)}
}

// lineIn matches the line in errors of plainyaml.
var lineIn = regexp.MustCompile(`\bline (\d+): `)

// withLine returns an error of plainyaml as an Error with its line.
func withLine(err error) error {
	text, line := err.Error(), 1
	if found := lineIn.FindStringSubmatchIndex(text); found != nil {
		if n, err := strconv.Atoi(text[found[2]:found[3]]); err == nil {
			line, text = n, text[:found[0]]+text[found[1]:]
		}
	}
	return Error{Line: line, Text: text}
}

// mostExpectations is the most expectations of a text.
const mostExpectations = 1000

// Read reads expectations. One about an empty set is an error. All errors are of type Error.
func Read(text string) ([]Expectation, error) {
	root, err := plainyaml.Read(text)
	if err != nil {
		return nil, withLine(err)
	}
	var out []Expectation
	err = fields(root, reader{
		"expectations": readList(func(n *yaml.Node) error {
			e, err := readExpectation(n)
			out = append(out, e)
			return err
		}),
		"urls": readList(func(n *yaml.Node) error {
			e, err := readURL(n)
			out = append(out, e)
			return err
		}),
	})
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, errorAt(root.Line, "there is no expectation")
	}
	if len(out) > mostExpectations {
		return nil, errorAt(root.Line, "there are more than %d expectations", mostExpectations)
	}
	return out, checkAll(out)
}

// checkAll refuses duplicate names, and sets without requests.
func checkAll(all []Expectation) error {
	lines := map[string]int{}
	for _, e := range all {
		if before, used := lines[e.Name]; used {
			return errorAt(e.Line, "name %s is used in line %d", diag.Quote(e.Name), before)
		}
		lines[e.Name] = e.Line
		if empty(e) {
			return errorAt(e.Line, "expectation %s is about nothing: no request is in its set",
				diag.Quote(e.Name))
		}
	}
	return nil
}

// readExpectation reads one expectation.
func readExpectation(n *yaml.Node) (Expectation, error) {
	e, must := Expectation{Line: n.Line}, false
	err := fields(n, reader{
		"name":        text(&e.Name),
		"description": text(&e.Description),
		"requests":    func(n *yaml.Node) error { return readRequests(n, &e.Requests) },
		"except": readList(func(n *yaml.Node) error {
			e.Except = append(e.Except, Requests{})
			return readRequests(n, &e.Except[len(e.Except)-1])
		}),
		"must": func(n *yaml.Node) error { must = true; return readMust(n, &e.Must) },
	})
	switch {
	case err != nil:
		return e, err
	case e.Name == "":
		return e, errorAt(n.Line, "an expectation needs a name")
	case !must:
		return e, errorAt(n.Line, "expectation %s says nothing: it has no field must", diag.Quote(e.Name))
	}
	return e, nil
}

// readURL reads the expectation that Services answer a URL.
func readURL(n *yaml.Node) (Expectation, error) {
	yes := true
	e := Expectation{Line: n.Line, Must: Must{Answered: &yes}}
	err := fields(n, reader{
		"url": func(n *yaml.Node) error {
			u, err := urlOf(n.Value)
			e.Name, e.Requests.URLs = n.Value, []URL{u}
			return errorIn(n, err)
		},
		"services": texts(&e.Must.Services, serviceName),
		"service": func(n *yaml.Node) error {
			e.Must.Services = append(e.Must.Services, n.Value)
			return errorIn(n, serviceName(n.Value))
		},
	})
	if err == nil && (e.Name == "" || len(e.Must.Services) == 0) {
		err = errorAt(n.Line, "a URL needs the fields url and service")
	}
	return e, err
}

// readRequests reads a set of requests.
func readRequests(n *yaml.Node, r *Requests) error {
	err := fields(n, reader{
		"urls": readList(func(n *yaml.Node) error {
			u, err := urlOf(n.Value)
			r.URLs = append(r.URLs, u)
			return errorIn(n, err)
		}),
		"schemes": texts(&r.Schemes, oneOf("http", "https")),
		"ports":   numbers(&r.Ports, 1, 65535),
		"hosts": readList(func(n *yaml.Node) error {
			h := Host(strings.ToLower(n.Value))
			r.Hosts = append(r.Hosts, h)
			return errorIn(n, h.check())
		}),
		"paths": readList(func(n *yaml.Node) error {
			p, err := readPath(n)
			r.Paths = append(r.Paths, p)
			return err
		}),
		"methods": texts(&r.Methods, method),
		"headers": entriesOf(&r.Headers, header),
		"query":   entriesOf(&r.Query, parameter),
		"sources": texts(&r.Sources, addressRange),
		"loadBalancers": func(n *yaml.Node) error {
			return fields(n, reader{
				"classes": texts(&r.LoadBalancers.Classes, checkNotEmpty),
				"schemes": texts(&r.LoadBalancers.Schemes, oneOf("internal", "internet-facing")),
				"keys":    texts(&r.LoadBalancers.Keys, checkNotEmpty),
				"ofHost":  boolean(&r.LoadBalancers.OfHost),
			})
		},
		"answeredBy": func(n *yaml.Node) error { return fields(n, r.AnsweredBy.reader()) },
	})
	if err == nil && len(r.URLs) > 0 &&
		len(r.Schemes)+len(r.Ports)+len(r.Hosts)+len(r.Paths)+len(r.Query) > 0 {
		err = errorAt(n.Line,
			"urls stand for schemes, ports, hosts, paths and query, which must not be set too")
	}
	return err
}

func (a *Answerers) reader() reader {
	return reader{
		"namespaces": texts(&a.Namespaces, checkNotEmpty),
		"ingresses":  texts(&a.Ingresses, namespacedName),
		"services":   texts(&a.Services, serviceName),
	}
}

// readPath reads a set of paths.
func readPath(n *yaml.Node) (p Path, err error) {
	kinds := 0
	of := func(kind routing.PathType) func(*yaml.Node) error {
		return func(n *yaml.Node) error {
			kinds++
			p.Path = routing.NewPath(kind, n.Value)
			return errorIn(n, checkPath(p.Path))
		}
	}
	err = fields(n, reader{
		"exact": of(routing.Exact), "prefix": of(routing.Prefix), "glob": of(routing.Glob),
		"regex": of(routing.Regex), "decoded": boolean(&p.Decoded),
	})
	switch {
	case err != nil:
	case kinds != 1:
		err = errorAt(n.Line, "a path needs one of the fields exact, prefix, glob and regex")
	case p.Decoded && p.Type != routing.Exact && p.Type != routing.Prefix:
		err = errorAt(n.Line, "decoded is for the fields exact and prefix")
	}
	return p, err
}

// readMust reads the conditions for answers.
func readMust(n *yaml.Node, m *Must) error {
	fieldsOf := m.Answerers.reader()
	for name, read := range (reader{
		"answered":   optional(&m.Answered),
		"forwarded":  optional(&m.Forwarded),
		"signIn":     optional(&m.SignIn),
		"signInWith": texts(&m.SignInWith, oneOf(routing.OIDC, routing.Cognito, routing.JWT)),
		"mutualTLS":  optional(&m.MutualTLS),
		"redirect": func(n *yaml.Node) error {
			m.Redirect = &Redirect{}
			return fields(n, reader{
				"schemes":  texts(&m.Redirect.Schemes, oneOf("http", "https")),
				"statuses": numbers(&m.Redirect.Statuses, 300, 399),
			})
		},
		"statuses":            numbers(&m.Statuses, 200, 599),
		"loadBalancerSchemes": texts(&m.LoadBalancerSchemes, oneOf("internal", "internet-facing")),
		"inboundWithin":       texts(&m.InboundWithin, rangeOrList),
		"webACL":              optional(&m.WebACL),
		"certificate":         optional(&m.Certificate),
		"tlsPolicies":         texts(&m.TLSPolicies, checkNotEmpty),
	}) {
		fieldsOf[name] = read
	}
	if err := fields(n, fieldsOf); err != nil {
		return err
	}
	if len(n.Content) == 0 {
		return errorAt(n.Line, "it says nothing")
	}
	return nil
}

// A reader has a function for each field of a mapping.
type reader map[string]func(*yaml.Node) error

// fields reads the fields of a mapping.
func fields(n *yaml.Node, r reader) error {
	if n.Kind != yaml.MappingNode {
		return errorAt(n.Line, "it is not a mapping")
	}
	for pair := range slices.Chunk(n.Content, 2) {
		read, known := r[pair[0].Value]
		if !known {
			return errorAt(pair[0].Line, "there is no field %s", diag.Quote(pair[0].Value))
		}
		if err := read(pair[1]); err != nil {
			return errorIn(pair[0], err, pair[0].Value)
		}
	}
	return nil
}

// errorIn returns an error with the line of a node, unless it has one, in the field of a name.
func errorIn(n *yaml.Node, err error, name ...string) error {
	if err == nil {
		return nil
	}
	out, known := errors.AsType[Error](err)
	if !known {
		out = Error{Line: n.Line, Text: err.Error()}
	}
	if out.Field != "" {
		name = append(name, out.Field)
	}
	out.Field = strings.Join(name, ".")
	return out
}

// readList reads the items of a list that is not empty.
func readList(read func(*yaml.Node) error) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		switch {
		case n.Kind != yaml.SequenceNode:
			return errorAt(n.Line, "it is not a list")
		case len(n.Content) == 0:
			return errorAt(n.Line, "it is an empty list")
		}
		for _, item := range n.Content {
			if err := read(item); err != nil {
				return err
			}
		}
		return nil
	}
}

func text(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) (err error) {
		*to, err = plainyaml.Text(n)
		return errorIn(n, err)
	}
}

// texts reads a list of texts that pass a check.
func texts(to *[]string, check func(string) error) func(*yaml.Node) error {
	return readList(func(n *yaml.Node) error {
		value, err := plainyaml.Text(n)
		*to = append(*to, value)
		return errorIn(n, errors.Join(err, check(value)))
	})
}

func numbers(to *[]int32, least, most int64) func(*yaml.Node) error {
	return readList(func(n *yaml.Node) error {
		value, err := strconv.ParseInt(n.Value, 10, 32)
		if err != nil || value < least || value > most {
			return errorAt(n.Line, "%s is not a number from %d to %d", diag.Quote(n.Value), least, most)
		}
		*to = append(*to, int32(value))
		return nil
	})
}

func boolean(to *bool) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Value != "true" && n.Value != "false" {
			return errorAt(n.Line, "%s is neither true nor false", diag.Quote(n.Value))
		}
		*to = n.Value == "true"
		return nil
	}
}

func optional(to **bool) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		*to = new(bool)
		return boolean(*to)(n)
	}
}

// entriesOf reads a mapping of names to lists of globs.
func entriesOf(to *map[string][]string, check func(string) error) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		values, err := plainyaml.Entries(n)
		if err != nil {
			return errorIn(n, err)
		}
		for name, globs := range values {
			if err := check(name); err != nil {
				return errorIn(n, err)
			}
			if len(globs) == 0 {
				return errorAt(n.Line, "%s has no value", diag.Quote(name))
			}
		}
		*to = values
		return nil
	}
}
