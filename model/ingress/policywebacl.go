package ingress

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/settings"
)

// This file refuses Ingresses that name another web ACL than that of the load balancer.

// WithoutOtherWebACLs refuses changes that name a missing web ACL, or another than the load
// balancer's. A member that was served before its web ACL went missing stays.
func WithoutOtherWebACLs(s Snapshot, g CloudProtection) (Snapshot,
	[]diag.Diagnostic) {
	var found []diag.Diagnostic
	refused := slices.DeleteFunc(s.Changes(), func(m Member) bool { return !g.lacksWebACL(m) })
	for _, m := range s.Members {
		if m.Leaving || !g.lacksWebACL(m) {
			continue
		}
		why := cmp.Or(g.NoWebACLs, "there is no web ACL "+m.Settings.WebACL)
		if among(m, refused) {
			found = append(found, aboutAnnotation(m.Ingress, settings.WAFv2ACL, diag.Error,
				diag.WebACLMissing, why+", and the Ingress is not served without it"))
		} else {
			found = append(found, aboutAnnotation(m.Ingress, settings.WAFv2ACL, diag.Warning,
				diag.WebACLMissing, why+"; what stands before the load balancer stays"))
		}
	}
	if len(refused) > 0 {
		s = s.Refuse(refused)
	}
	for {
		inForce := webACLInForce(s)
		changes := s.Changes()
		var back, out []Member
		for _, m := range s.Members {
			asked := m.Settings.WebACLAsked()
			if !settings.IsWebACL(asked) || settings.IsWebACL(inForce) && g.sameWebACL(asked, inForce) {
				continue
			}
			if among(m, changes) {
				back = append(back, m)
			} else {
				out = append(out, m)
			}
			if !m.Leaving {
				found = append(found, aboutAnnotation(m.Ingress, settings.WAFv2ACL, diag.Error,
					diag.WebACLDiffers, otherWebACL(m, inForce)))
			}
		}
		if len(back)+len(out) == 0 {
			return s, found
		}
		s = s.Refuse(back).Without(out)
	}
}

// webACLInForce returns the web ACL of the load balancer: that of the oldest member with a served
// version, or else of the oldest member that names one. It is "" if no member that may name one
// does.
func webACLInForce(s Snapshot) string {
	changes := s.Changes()
	asks := func(m Member) bool { return settings.IsWebACL(m.Settings.WebACL) }
	at := slices.IndexFunc(s.Members,
		func(m Member) bool { return asks(m) && !among(m, changes) })
	if at < 0 {
		at = slices.IndexFunc(s.Members, asks)
	}
	if at < 0 {
		return ""
	}
	return s.Members[at].Settings.WebACL
}

// otherWebACL returns the message for a member that names another web ACL than the one in force.
func otherWebACL(m Member, inForce string) string {
	out := fmt.Sprintf("the Ingress asks for web ACL %s and is not served without it",
		m.Settings.WebACLAsked())
	if inForce != "" {
		out = fmt.Sprintf("web ACL %s stands before the load balancer, and the Ingress asks for %s and "+
			"is not served without it", inForce, m.Settings.WebACLAsked())
	}
	if m.Settings.Uncounted != nil {
		out += ": only the class and the owner of the group decide"
	}
	return out
}
