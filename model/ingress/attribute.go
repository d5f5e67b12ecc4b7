package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file reads attributes of target groups, which are in the cloud's own terms. Each is the
// oldest Ingress's that sets it.

// claimAttributes adds a member's attributes to those of a backend. Older members have made theirs
// already.
func (v *visit) claimAttributes(b *pooled) {
	for _, name := range slices.Sorted(maps.Keys(v.settings.Attributes)) {
		mine := routing.Attribute{Name: name, Value: v.settings.Attributes[name], Owner: v.Owner, Source: annotationSource(v.Ingress, settings.GroupAttributes)}
		at, claimed := slices.BinarySearchFunc(b.Attributes, name, func(a routing.Attribute, name string) int { return cmp.Compare(a.Name, name) })
		switch {
		case !claimed:
			b.Attributes = slices.Insert(slices.Clone(b.Attributes), at, mine)
		case b.Attributes[at].Value != mine.Value:
			v.found = append(v.found, conflicting(v.Member, settings.GroupAttributes,
				fmt.Sprintf("%s decides on %s for %s, and says %s", b.Attributes[at].Owner, diag.Cut(name), b.ID, diag.Cut(b.Attributes[at].Value))))
		}
	}
}
