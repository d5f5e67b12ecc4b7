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
	Annotation string
	Said       func(settings.Values) string // "" if a member has no value
	// Asks reports whether a value enables something; such values take precedence.
	Asks func(value string) bool
	Same func(a, b string) bool
}

// Decide returns the value in force, and the member that decides: the oldest whose value enables
// something, else the oldest with a value. The diagnostics are for the others, and for members
// whose setting does not count.
func (f loadBalancerSetting) Decide(members []Member) (value string, by *Member,
	found []diag.Diagnostic) {
	at := slices.IndexFunc(members, func(m Member) bool { return f.Asks(f.Said(m.Settings)) })
	if at < 0 {
		at = slices.IndexFunc(members, func(m Member) bool { return f.Said(m.Settings) != "" })
	}
	if at >= 0 {
		by = &members[at]
		value = f.Said(by.Settings)
	}
	for _, m := range members {
		uncounted := ""
		if m.Settings.Uncounted != nil {
			uncounted = f.Said(*m.Settings.Uncounted)
		}
		switch mine := f.Said(m.Settings); {
		case m.Leaving:
		case uncounted != "" && !f.Same(uncounted, value):
			found = append(found, aboutAnnotation(m.Ingress, f.Annotation, diag.Warning,
				diag.NotGroupOwner, "it does not count: only the class and the owner of the group decide"))
		case mine != "" && !f.Same(mine, value):
			found = append(found, settingConflict(m, f.Annotation,
				fmt.Sprintf("%s decides: %s", by.Owner, value)))
		}
	}
	return value, by, found
}
