package settings

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fairlead/model/diag"
)

// This file reads the labels of the nodes that are targets.

// mostNodeLabels is the most labels that an Ingress asks of nodes.
const mostNodeLabels = 20

// parseNodeLabels reads "name=value,name=value", and returns it sorted and without spaces. A value
// can be empty, as in node-role.kubernetes.io/worker=.
func parseNodeLabels(text string) (string, error) {
	var out []string
	names := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !found:
			return "", fmt.Errorf("%s is not a name, an equals sign and a value", diag.Quote(part))
		case names[name]:
			return "", fmt.Errorf("%s is there twice", diag.Quote(name))
		}
		if err := joinMessages(validation.IsQualifiedName(name)); err != nil {
			return "", fmt.Errorf("%s is not the name of a label: %w", diag.Quote(name), err)
		}
		if err := joinMessages(validation.IsValidLabelValue(value)); err != nil {
			return "", fmt.Errorf("%s is not the value of a label: %w", diag.Quote(value), err)
		}
		names[name] = true
		out = append(out, name+"="+value)
	}
	if len(out) > mostNodeLabels {
		return "", fmt.Errorf("it has %d labels, and %d are the most", len(out), mostNodeLabels)
	}
	slices.Sort(out)
	return strings.Join(out, ","), nil
}
