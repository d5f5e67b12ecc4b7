package ingress

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/settings"
)

// This file refuses changes that need a load balancer name which another resource in the account
// has.

// WithoutTakenName returns the snapshot without changes, if another resource in the account has the
// name of the load balancer. Taken describes that resource; "" for none. Accepted versions stay
// served, and are reported, too.
func WithoutTakenName(s Snapshot, taken string) (Snapshot, []diag.Diagnostic) {
	if taken == "" {
		return s, nil
	}
	changes := s.Changes()
	var found []diag.Diagnostic
	for _, m := range s.Members {
		if m.Leaving {
			continue
		}
		severity, message := diag.Warning, taken
		if slices.ContainsFunc(changes, func(c Member) bool { return c.Ingress == m.Ingress }) {
			severity, message = diag.Error, taken+", and the Ingress is not served by a load balancer of "+
				"another name"
		}
		found = append(found, aboutAnnotation(m.Ingress, settings.LoadBalancerName, severity,
			diag.NameTaken, message))
	}
	return s.Refuse(changes), found
}
