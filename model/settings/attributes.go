package settings

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/diag"
)

// This file reads attributes of target groups.

// mostAttributes is how many attributes an Ingress sets. Each of its target groups has all of them.
const mostAttributes = 30

// parseAttributes reads "name=value,name=value".
func parseAttributes(text string) (map[string]string, error) {
	out := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !found || name == "" || value == "":
			return nil, fmt.Errorf("%s is not a name, an equals sign and a value", diag.Quote(part))
		case out[name] != "":
			return nil, fmt.Errorf("%s is set twice", diag.Quote(name))
		}
		out[name] = value
	}
	if len(out) > mostAttributes {
		return nil, fmt.Errorf("it has %d attributes, and %d are the most", len(out), mostAttributes)
	}
	return out, nil
}
