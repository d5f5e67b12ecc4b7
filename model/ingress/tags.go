package ingress

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides which tags a load balancer has.

// WithMemberTags returns the tags of the class and of members, oldest first, as far as there is
// room.
func WithMemberTags(s Snapshot, ofClass map[string]string) (map[string]string, []diag.Diagnostic) {
	var found []diag.Diagnostic
	out, by := ofClass, map[string]routing.Owner{}
	tell := func(m Member, reason diag.Reason, message string) {
		if !m.Leaving {
			found = append(found, aboutAnnotation(m.Ingress, settings.Tags, diag.Warning, reason, message))
		}
	}
	for _, m := range s.Members {
		for _, name := range slices.Sorted(maps.Keys(m.Settings.Tags)) {
			value := m.Settings.Tags[name]
			owner, decided := by[name]
			switch {
			case decided && out[name] != value:
				tell(m, diag.SettingConflict, fmt.Sprintf("%s decides about %s: %s", owner, name, out[name]))
			case decided:
			case len(out) >= settings.MostTags:
				tell(m, diag.SettingConflict, fmt.Sprintf("%s is left out: the load balancer has %d tags "+
					"of its class and of older Ingresses, which is the most", name, len(out)))
			default:
				if len(by) == 0 {
					out = maps.Clone(out)
				}
				if out == nil {
					out = map[string]string{}
				}
				out[name], by[name] = value, m.Owner
			}
		}
	}
	for _, m := range s.Members {
		if m.Settings.Uncounted == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(m.Settings.Uncounted.Tags)) {
			if value, is := out[name]; !is || value != m.Settings.Uncounted.Tags[name] {
				tell(m, diag.NotGroupOwner,
					name+" does not count: only the class and the owner of the group decide")
			}
		}
	}
	return out, found
}
