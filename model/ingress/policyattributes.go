package ingress

import (
	"fmt"
	"maps"

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
	for i := range settings.Table {
		row := &settings.Table[i]
		if row.BalancerAttribute == "" {
			continue
		}
		value, by, told := loadBalancerSetting{
			Annotation: row.Annotation,
			Said: func(v settings.Values) string {
				return v.BalancerAttributes[row.BalancerAttribute]
			},
			Asks: func(value string) bool { return value != "" },
			Same: func(a, b string) bool { return a == b },
		}.Decide(s.Members)
		found = append(found, told...)
		if by == nil {
			continue
		}
		if why := refuse(row.BalancerAttribute, value); why != "" {
			found = append(found, aboutAnnotation(by.Ingress, row.Annotation, diag.Warning,
				diag.NotExpressible, fmt.Sprintf("%s; it is left out", why)))
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[row.BalancerAttribute] = value
	}
	return out, found
}
