package ingress

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides which attributes of load balancers Ingresses can set.

// WithMemberAttributes returns the attributes of the class and of members. An attribute of a member
// is left out if refuse returns a reason.
func WithMemberAttributes(
	s Snapshot, ofClass map[string]string, refuse func(name, value string) (why string),
) (map[string]string, []diag.Diagnostic) {
	var found []diag.Diagnostic
	out := maps.Clone(ofClass)
	for _, name := range attributesAsked(s.Members) {
		value, by, told := loadBalancerSetting{
			Name: diag.Cut(name),
			Said: func(v settings.Values) (value, annotation string) {
				a := v.BalancerAttributes[name]
				return a.Value, a.Annotation
			},
			Asks: func(value string) bool { return value != "" },
			Same: func(a, b string) bool { return a == b || a == ofClass[name] },
		}.Decide(s.Members)
		found = append(found, told...)
		if by == nil {
			continue
		}
		if why := refuse(name, value); why != "" {
			found = append(found, aboutAnnotation(by.Ingress,
				by.Settings.BalancerAttributes[name].Annotation, diag.Warning, diag.NotExpressible,
				why+"; it is left out"))
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	return out, found
}

// attributesAsked returns the attributes of load balancers that members ask for, sorted.
func attributesAsked(members []Member) []string {
	var names []string
	for _, m := range members {
		names = slices.AppendSeq(names, maps.Keys(m.Settings.BalancerAttributes))
		if m.Settings.Uncounted != nil {
			names = slices.AppendSeq(names, maps.Keys(m.Settings.Uncounted.BalancerAttributes))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
