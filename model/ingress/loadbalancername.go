package ingress

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/settings"
)

// This file is names that load balancers are given by those who ask for them. Nothing else in the
// account may have such a name, which only the cloud can say.

// inWords is what a load balancer is to be called.
func inWords(name string) string {
	if name == "" {
		return "no name"
	}
	return "the name " + name
}

// WithoutTakenName returns the snapshot without the changes that ask for a name that something else
// in the account has. Taken says what has it; "" if nothing has. What is served already stays; its
// owner is told, too.
func (s Snapshot) WithoutTakenName(taken string) (Snapshot, []diag.Diagnostic) {
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
			severity, message = diag.Error, taken+", and the Ingress is not served by a load balancer of another name"
		}
		found = append(found, about(m.Ingress, settings.LoadBalancerName, severity, diag.NameTaken, message))
	}
	return s.Refuse(changes), found
}
