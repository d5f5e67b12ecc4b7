package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads attributes of target groups, which are in the cloud's own terms. Each is the oldest
// Ingress's that sets it.

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

// claimAttributes adds a member's attributes to those of a backend. Older members have made theirs already.
func (v *visit) claimAttributes(b *pooled) {
	for _, name := range slices.Sorted(maps.Keys(v.settings.attributes)) {
		mine := routing.Attribute{Name: name, Value: v.settings.attributes[name], Owner: v.Owner, Source: annotationSource(v.Ingress, attributesAnnotation)}
		at, claimed := slices.BinarySearchFunc(b.Attributes, name, func(a routing.Attribute, name string) int { return cmp.Compare(a.Name, name) })
		switch {
		case !claimed:
			b.Attributes = slices.Insert(slices.Clone(b.Attributes), at, mine)
		case b.Attributes[at].Value != mine.Value:
			v.found = append(v.found, about(v.Ingress, attributesAnnotation, diag.Warning, diag.SettingConflict,
				fmt.Sprintf("%s decides on %s for %s, and says %s", b.Attributes[at].Owner, diag.Cut(name), b.ID, diag.Cut(b.Attributes[at].Value))))
		}
	}
}
