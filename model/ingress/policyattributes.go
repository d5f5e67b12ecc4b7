package ingress

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/diag"
)

// This file decides which attributes of load balancers Ingresses can set.

// WithMemberAttributes returns the attributes of the class and of members. An attribute of a member
// is left out if refuse returns a reason.
func WithMemberAttributes(
	s Snapshot, ofClass map[string]string, refuse func(name, value string) (why string),
) (map[string]string, []diag.Diagnostic) {
	var found []diag.Diagnostic
	tell := func(m Member, annotation string, reason diag.Reason, message string) {
		if !m.Leaving || reason == diag.NotExpressible {
			found = append(found, aboutAnnotation(m.Ingress, annotation, diag.Warning, reason, message))
		}
	}
	decided := map[string]settingClaim{}
	for _, m := range s.Members {
		for _, name := range slices.Sorted(maps.Keys(m.Settings.BalancerAttributes)) {
			asked := m.Settings.BalancerAttributes[name]
			if by, is := decided[name]; !is {
				decided[name] = settingClaim{asked.Value, m.Owner}
			} else if by.Value != asked.Value {
				tell(m, asked.Annotation, diag.SettingConflict, fmt.Sprintf("%s decides about %s: %s",
					by.Owner, diag.Cut(name), diag.Cut(by.Value)))
			}
		}
	}
	out := maps.Clone(ofClass)
	for _, m := range s.Members {
		for _, name := range slices.Sorted(maps.Keys(m.Settings.BalancerAttributes)) {
			asked := m.Settings.BalancerAttributes[name]
			if decided[name].Owner != m.Owner {
				continue
			}
			if why := refuse(name, asked.Value); why != "" {
				tell(m, asked.Annotation, diag.NotExpressible, why+"; it is left out")
				continue
			}
			if out == nil {
				out = map[string]string{}
			}
			out[name] = asked.Value
		}
		if m.Settings.Uncounted == nil {
			continue
		}
		uncounted := m.Settings.Uncounted.BalancerAttributes
		for _, name := range slices.Sorted(maps.Keys(uncounted)) {
			if asked := uncounted[name]; asked.Value != decided[name].Value &&
				asked.Value != ofClass[name] {
				tell(m, asked.Annotation, diag.NotGroupOwner, diag.Cut(name)+
					" does not count: only the class and the owner of the group decide")
			}
		}
	}
	return out, found
}
