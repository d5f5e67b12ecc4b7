package ingress

import (
	"fmt"

	"fairlead.dev/fairlead/model/diag"
)

// This file refuses changes under a class with a spec.provider that the provider does not accept.

// WithoutRefusedSettings returns the snapshot without changes, if its class has settings that the
// provider does not accept. Accepted versions stay served, and are reported, too.
func WithoutRefusedSettings(s Snapshot, refused map[string]string) (Snapshot,
	[]diag.Diagnostic) {
	if !RefusesSettings(s, refused) {
		return s, nil
	}
	why := refused[providerSettingsText(s.Class.Provider)]
	changes := s.Changes()
	found := []diag.Diagnostic{{Severity: diag.Error, Reason: diag.SettingsRefused,
		Source: s.Class.Source().At("spec.provider"), Message: why}}
	for _, m := range changes {
		found = append(found, diag.Diagnostic{Severity: diag.Error, Reason: diag.SettingsRefused,
			Source: sourceOfIngress(m.Ingress),
			Message: fmt.Sprintf("not served by a new load balancer, or as it was changed: the provider "+
				"does not take spec.provider of class %s: %s", s.Class.Name, why)})
	}
	return s.Refuse(changes), found
}

// RefusesSettings reports whether the provider refuses the settings of the class.
func RefusesSettings(s Snapshot, refused map[string]string) bool {
	return refused[providerSettingsText(s.Class.Provider)] != ""
}
