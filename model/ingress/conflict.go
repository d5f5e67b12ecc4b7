package ingress

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides between members that say different things about one setting. Members come
// oldest first: the first that says something decides, and the others are told.

// A claim is a value, and the member that said it first.
type claim struct {
	value string
	owner routing.Owner
}

// conflicting tells a member that an older one decides about a setting.
func conflicting(m Member, annotation, message string) diag.Diagnostic {
	return about(m.Ingress, annotation, diag.Warning, diag.SettingConflict, message)
}

// A forAll is a setting of which one value holds for a whole load balancer.
type forAll struct {
	annotation string
	said       func(settings.Values) string // "" where a member says nothing
	asks       func(value string) bool      // whether a value asks for something: that goes before one that does not
	same       func(a, b string) bool
}

// decide returns the value that holds, and the member that decides: the oldest that asks for
// something, and else the oldest that says anything. The others are told, and those whose setting
// does not count.
func (f forAll) decide(members []Member) (value string, by *Member, found []diag.Diagnostic) {
	at := slices.IndexFunc(members, func(m Member) bool { return f.asks(f.said(m.settings)) })
	if at < 0 {
		at = slices.IndexFunc(members, func(m Member) bool { return f.said(m.settings) != "" })
	}
	if at >= 0 {
		by = &members[at]
		value = f.said(by.settings)
	}
	for _, m := range members {
		uncounted := ""
		if m.settings.Uncounted != nil {
			uncounted = f.said(*m.settings.Uncounted)
		}
		switch mine := f.said(m.settings); {
		case m.Leaving:
		case uncounted != "" && !f.same(uncounted, value):
			found = append(found, about(m.Ingress, f.annotation, diag.Warning, diag.NotGroupOwner, "it does not count: only the class and the owner of the group decide"))
		case mine != "" && !f.same(mine, value):
			found = append(found, conflicting(m, f.annotation, fmt.Sprintf("%s decides: %s", by.Owner, value)))
		}
	}
	return value, by, found
}
