package ingress

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/settings"
)

// This file refuses changes that need a load balancer name which another resource in the account
// has.

// adopted ends the message about the load balancer of another controller.
const adopted = ". The Ingress is served once `fairlead adopt` has taken that load balancer over"

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
		d := aboutAnnotation(m.Ingress, settings.LoadBalancerName, severity, diag.NameTaken, message)
		if s.Class.Adoption != nil && m.Settings.LoadBalancerName == "" {
			d.Source, d.Message = m.Source(), taken+adopted
		}
		found = append(found, d)
	}
	return s.Refuse(changes), found
}
