package ingress

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides between members with different values of one setting. Members come oldest
// first: the first with a value decides, and the others get a diagnostic.

// A settingClaim is a value, and the first member that has it.
type settingClaim struct {
	Value string
	Owner routing.Owner
}

// settingConflict returns the diagnostic for a member whose setting an older one decides.
func settingConflict(m Member, annotation, message string) diag.Diagnostic {
	return aboutAnnotation(m.Ingress, annotation, diag.Warning, diag.SettingConflict, message)
}

// A loadBalancerSetting is a setting with one value for a whole load balancer.
type loadBalancerSetting struct {
	// Said returns the value of a member and its annotation; the value is "" if it has none.
	Said func(settings.Values) (value, annotation string)
	// Asks reports whether a value enables something; such values take precedence.
	Asks func(value string) bool
	Same func(a, b string) bool
}

// decide returns the value in force, and the member that decides: the oldest whose value enables
// something, else the oldest with a value. The diagnostics are for the others, and for members
// whose setting does not count.
func (f loadBalancerSetting) decide(members []Member) (value string, by *Member,
	found []diag.Diagnostic) {
	said := func(m Member) string {
		value, _ := f.Said(m.Settings)
		return value
	}
	at := slices.IndexFunc(members, func(m Member) bool { return f.Asks(said(m)) })
	if at < 0 {
		at = slices.IndexFunc(members, func(m Member) bool { return said(m) != "" })
	}
	if at >= 0 {
		by = &members[at]
		value = said(*by)
	}
	for _, m := range members {
		uncounted, annotation := "", ""
		if m.Settings.Uncounted != nil {
			uncounted, annotation = f.Said(*m.Settings.Uncounted)
		}
		switch mine, mineBy := f.Said(m.Settings); {
		case m.Leaving:
		case uncounted != "" && !f.Same(uncounted, value):
			found = append(found, aboutAnnotation(m.Ingress, annotation, diag.Warning,
				diag.NotGroupOwner, "it does not count: only the class and the owner of the group decide"))
		case mine != "" && !f.Same(mine, value):
			found = append(found, settingConflict(m, mineBy, fmt.Sprintf("%s decides: %s", by.Owner,
				diag.Cut(value))))
		}
	}
	return value, by, found
}
