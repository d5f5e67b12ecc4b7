package ingress

import (
	"fmt"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/settings"
)

// This file refuses changes that need Nodes as targets while Nodes cannot be read.

// WithoutUnreadNodes returns the snapshot without the changes that send requests to Nodes, if these
// could not be read, with diagnostics. Target groups keep their targets: without Nodes, none is
// registered or deregistered.
func WithoutUnreadNodes(s Snapshot) (Snapshot, []diag.Diagnostic) {
	if s.NodesUnread == "" {
		return s, nil
	}
	var found []diag.Diagnostic
	var refused []Member
	changes, services, backends := s.Changes(), byName(s.Services), byName(s.Backends)
	for _, m := range s.Members {
		if m.Leaving || !s.isOnNodes(m, services, backends) {
			continue
		}
		severity, outcome := diag.Warning, "the targets stay as they are"
		if among(m, changes) {
			refused = append(refused, m)
			severity, outcome = diag.Error, "the Ingress is served as it was last accepted, or waits"
		}
		found = append(found, aboutAnnotation(m.Ingress, settings.TargetType, severity,
			diag.NodesUnread, fmt.Sprintf("Nodes could not be read, so %s: %s", outcome, s.NodesUnread)))
	}
	if len(refused) > 0 {
		s = s.Refuse(refused)
	}
	return s, found
}
