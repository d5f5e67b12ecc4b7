package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
)

// This file checks the settings of a provider's own against the JSON Schemas that it serves.

// schemas holds the schemas of a class's settings and of a Backend's; nil for none.
type schemas struct{ balancer, group *jsonschema.Schema }

// Limits of a schema, so that the operator does not spend long on it.
const (
	longestSchema = 256 << 10
	mostSubschema = 10_000 // with what references stand for written out
)

// compileSchemas compiles the schemas of a provider.
func compileSchemas(told *v1.SettingsSchemas) (out schemas, err error) {
	if told == nil {
		return out, nil
	}
	if out.balancer, err = compileSchema("settingsSchemas.loadBalancer",
		told.LoadBalancer); err != nil {
		return out, err
	}
	out.group, err = compileSchema("settingsSchemas.targetGroup", told.TargetGroup)
	return out, err
}

func compileSchema(name string, text json.RawMessage) (*jsonschema.Schema, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	if len(text) > longestSchema {
		return nil, fmt.Errorf("%s has more than %d bytes", name, longestSchema)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	e := expansion{document: document, within: map[string]bool{}, counted: map[string]int{}}
	if _, err := e.count(document); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("schema.json", document); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return schema, nil
}

// noLoader is a loader that refuses to load referenced schemas.
type noLoader struct{}

func (noLoader) Load(from string) (any, error) {
	return nil, fmt.Errorf("%s is not read: references lead within a schema only", clip(from, 200))
}

// An expansion counts the parts of a schema with its references replaced. A schema that refers to
// itself is an error.
type expansion struct {
	document any
	within   map[string]bool // references that are being written out
	counted  map[string]int
}

func (e *expansion) count(value any) (int, error) {
	n := 1
	add := func(inner any) error {
		more, err := e.count(inner)
		if n += more; n > mostSubschema {
			return fmt.Errorf("it has more than %d parts with its references written out", mostSubschema)
		}
		return err
	}
	switch v := value.(type) {
	case []any:
		for _, inner := range v {
			if err := add(inner); err != nil {
				return n, err
			}
		}
	case map[string]any:
		for name, inner := range v {
			switch name {
			case "$dynamicRef", "$recursiveRef", "$id", "$anchor", "$dynamicAnchor":
				return n, fmt.Errorf("it has %s, which is not read", name)
			case "$schema":
				// In draft 4, "id" says where references begin, as "$id" does later.
				if draft, _ := inner.(string); strings.Contains(draft, "draft-04") {
					return n, errors.New("it is of draft 4, which is not read")
				}
			case "$ref":
				more, err := e.follow(inner)
				if n += more; err != nil {
					return n, err
				}
			}
			if err := add(inner); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// follow counts the parts behind a reference.
func (e *expansion) follow(reference any) (int, error) {
	text, _ := reference.(string)
	if !strings.HasPrefix(text, "#") {
		return 0, errors.New("references lead within a schema only")
	}
	if n, known := e.counted[text]; known {
		return n, nil
	}
	if e.within[text] {
		return 0, fmt.Errorf("%s refers to itself", clip(text, 100))
	}
	to, found := resolvePointer(e.document, text[1:])
	if !found {
		return 0, fmt.Errorf("it refers to %s, which it does not have", clip(text, 100))
	}
	e.within[text] = true
	defer delete(e.within, text)
	n, err := e.count(to)
	e.counted[text] = n
	return n, err
}

// resolvePointer returns the value at a JSON pointer in the fragment of a URL (RFC 6901, section
// 6).
func resolvePointer(document any, fragment string) (any, bool) {
	pointer, err := url.PathUnescape(fragment)
	names := strings.Split(pointer, "/")
	if err != nil || names[0] != "" {
		return nil, false
	}
	for _, name := range names[1:] {
		found := false
		switch v := document.(type) {
		case map[string]any:
			document, found = v[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		case []any:
			if at, err := strconv.Atoi(name); err == nil && at >= 0 && at < len(v) {
				document, found = v[at], true
			}
		}
		if !found {
			return nil, false
		}
	}
	return document, true
}

// refuse returns the settings that violate the schemas, with the reasons.
func (s schemas) refuse(q lb.Questions) map[string]string {
	out := map[string]string{}
	check := func(schema *jsonschema.Schema, settings, kind string) {
		if settings == "" {
			return
		}
		if schema == nil {
			out[settings] = "this provider has no settings of its own for " + kind
			return
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(settings))
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			out[settings] = describeViolations(err)
		}
	}
	check(s.balancer, q.Settings, "classes")
	for _, settings := range q.GroupSettings {
		check(s.group, settings, "Backends")
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// describeViolations returns all violations as text: "rateLimit: got string, want integer".
func describeViolations(err error) string {
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return clip(err.Error(), longestDetail)
	}
	return clip(strings.Join(causes(invalid), "; "), longestDetail)
}

// causes returns the violations at the bottom of an error.
func causes(e *jsonschema.ValidationError) []string {
	if len(e.Causes) == 0 {
		at := strings.Join(e.InstanceLocation, ".")
		if at == "" {
			at = "spec.provider"
		}
		return []string{at + ": " + e.ErrorKind.LocalizedString(message.NewPrinter(language.English))}
	}
	var said []string
	for _, cause := range e.Causes {
		said = append(said, causes(cause)...)
	}
	return said
}
