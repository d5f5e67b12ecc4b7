package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// compileSchemas compiles the schemas of a provider.
func compileSchemas(reply *v1.SettingsSchemas) (out schemas, err error) {
	if reply == nil {
		return out, nil
	}
	if out.balancer, err = compileSchema("settingsSchemas.loadBalancer",
		reply.LoadBalancer); err != nil {
		return out, err
	}
	out.group, err = compileSchema("settingsSchemas.targetGroup", reply.TargetGroup)
	return out, err
}

func compileSchema(name string, text json.RawMessage) (*jsonschema.Schema, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
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
