package ingress

import (
	"errors"
	"fmt"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file is about Secrets and Nodes that could not be read. What is served with them stays as it
// is, and what is not served yet waits. Other members are served as ever.

// WithoutUnreadNodes returns the snapshot without the changes that send requests to Nodes, where
// these could not be read. The owners are told. The members of target groups that exist stay, as
// nothing is registered and nothing is deregistered without Nodes.
func (s Snapshot) WithoutUnreadNodes() (Snapshot, []diag.Diagnostic) {
	if s.NodesUnread == "" {
		return s, nil
	}
	var found []diag.Diagnostic
	var refused []Member
	changes := s.Changes()
	for _, m := range s.Members {
		if m.Leaving || m.settings.TargetType != v1alpha1.TargetTypeInstance {
			continue
		}
		severity, outcome := diag.Warning, "the targets stay as they are"
		if among(m, changes) {
			refused = append(refused, m)
			severity, outcome = diag.Error, "the Ingress is served as it was last accepted, or waits"
		}
		found = append(found, about(m.Ingress, settings.TargetType, severity, diag.NodesUnread, fmt.Sprintf("Nodes could not be read, so %s: %s", outcome, s.NodesUnread)))
	}
	if len(refused) > 0 {
		s = s.Refuse(refused)
	}
	return s, found
}

// unreadSecret says that a Secret could not be read, and why; "" if there is no such failure.
func (x *index) unreadSecret(n name) string {
	why := x.unread[n.String()]
	if why == "" {
		return ""
	}
	return fmt.Sprintf("Secret %s could not be read (%s)", n, why)
}

// lastSignIn signs users in with the client that a Secret held last, and with the client secret
// that the cloud has.
func (v *visit) lastSignIn(o *v1alpha1.OIDC, n name) (*routing.Auth, error) {
	client := v.snapshot.Memory.Clients[n.String()]
	if client == "" {
		return nil, errors.New(v.unreadSecret(n))
	}
	out := v.signInWith(o, client)
	out.KeepsClientSecret = true
	return out, nil
}
