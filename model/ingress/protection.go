package ingress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides what stands before a load balancer: the web ACL of AWS WAF that looks at
// requests, and Shield Advanced. One holds for all members. An Ingress that asks for a web ACL is
// served behind that one, or not at all.

// CloudProtection is what the cloud has to protect a load balancer with.
type CloudProtection struct {
	// WebACLs maps those that were asked for to what the cloud calls them.
	WebACLs map[string]string
	// NoWebACLs is why the cloud has none of those that are missing in WebACLs, and NoShield why it
	// has no Shield Advanced; or "".
	NoWebACLs, NoShield string
}

// WebACLs are those that members ask for.
func WebACLs(s Snapshot) []string {
	var out []string
	for _, m := range s.Members {
		if asked := m.settings.WebACL; settings.IsWebACL(asked) && !slices.Contains(out, asked) {
			out = append(out, asked)
		}
	}
	slices.Sort(out)
	return out
}

// Shielded reports whether a member asks for a shield.
func Shielded(s Snapshot) bool {
	return slices.ContainsFunc(s.Members, func(m Member) bool { return m.settings.Shield == "true" })
}

// lacks reports whether a member asks for a web ACL that there is not.
func (g CloudProtection) lacks(m Member) bool {
	return settings.IsWebACL(m.settings.WebACL) && g.WebACLs[m.settings.WebACL] == ""
}

// arnOf returns the ARN of a web ACL, as far as that is known, or the name.
func (g CloudProtection) arnOf(webACL string) string { return cmp.Or(g.WebACLs[webACL], webACL) }

// same reports whether two settings name one web ACL. Of those that do not count the cloud is not
// asked for the ARN, which has the name in it.
func (g CloudProtection) same(a, b string) bool {
	a, b = g.arnOf(a), g.arnOf(b)
	return a == b || a != "" && b != "" && (nameInARN(a) == b || a == nameInARN(b))
}

// nameInARN is the name in the ARN of a web ACL:
// arn:aws:wafv2:REGION:ACCOUNT:regional/webacl/NAME/ID. Of anything else it is "".
func nameInARN(webACL string) string {
	if parts := strings.Split(webACL, "/"); len(parts) == 4 {
		return parts[2]
	}
	return ""
}

// WithoutOtherWebACLs returns a snapshot in which no member asks for another web ACL than the one
// that stands before the load balancer, or for one that there is not, unless it was served before
// that went missing. A change that asks for such a one is taken back. The owners are told.
func WithoutOtherWebACLs(s Snapshot, g CloudProtection) (Snapshot, []diag.Diagnostic) {
	var found []diag.Diagnostic
	refused := slices.DeleteFunc(s.Changes(), func(m Member) bool { return !g.lacks(m) })
	for _, m := range s.Members {
		if m.Leaving || !g.lacks(m) {
			continue
		}
		why := cmp.Or(g.NoWebACLs, "there is no web ACL "+m.settings.WebACL)
		if among(m, refused) {
			found = append(found, about(m.Ingress, settings.WAFv2ACL, diag.Error, diag.WebACLMissing, why+", and the Ingress is not served without it"))
		} else {
			found = append(found, about(m.Ingress, settings.WAFv2ACL, diag.Warning, diag.WebACLMissing, why+"; what stands before the load balancer stays"))
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
			asked := m.settings.WebACLAsked()
			if !settings.IsWebACL(asked) || settings.IsWebACL(inForce) && g.same(asked, inForce) {
				continue
			}
			if among(m, changes) {
				back = append(back, m)
			} else {
				out = append(out, m)
			}
			if !m.Leaving {
				found = append(found, about(m.Ingress, settings.WAFv2ACL, diag.Error, diag.WebACLDiffers, differs(s, m, inForce)))
			}
		}
		if len(back)+len(out) == 0 {
			return s, found
		}
		s = s.Refuse(back).Without(out)
	}
}

// webACLInForce is the web ACL that stands before the load balancer: what the oldest member asks
// for whose version is served, and else the oldest that asks for one. It is "" where no member asks
// for one that may.
func webACLInForce(s Snapshot) string {
	changes := s.Changes()
	asks := func(m Member) bool { return settings.IsWebACL(m.settings.WebACL) }
	at := slices.IndexFunc(s.Members, func(m Member) bool { return asks(m) && !among(m, changes) })
	if at < 0 {
		at = slices.IndexFunc(s.Members, asks)
	}
	if at < 0 {
		return ""
	}
	return s.Members[at].settings.WebACL
}

// differs says why a member is not served behind the web ACL in force.
func differs(s Snapshot, m Member, inForce string) string {
	out := fmt.Sprintf("the Ingress asks for web ACL %s and is not served without it", m.settings.WebACLAsked())
	if inForce != "" {
		out = fmt.Sprintf("web ACL %s stands before the load balancer, and the Ingress asks for %s and is not served without it", inForce, m.settings.WebACLAsked())
	}
	if m.settings.Uncounted != nil {
		out += ": only the class and the owner of the group decide"
	}
	return out
}

// DecidesAboutShield reports whether a member says that the load balancer is to be shielded, or
// that it is not.
func (m Member) DecidesAboutShield() bool { return m.settings.Shield != "" }

// DecidesAboutWebACL reports whether a member says which web ACL is to stand before the load
// balancer.
func (m Member) DecidesAboutWebACL() bool { return m.settings.WebACL != "" }

// Protect is what stands before the load balancer of a snapshot.
func Protect(s Snapshot, g CloudProtection) (routing.Protection, []diag.Diagnostic) {
	webACL, by, found := forAll{
		settings.WAFv2ACL, func(v settings.Values) string { return v.WebACL }, settings.IsWebACL, g.same,
	}.decide(s.Members)
	out := routing.Protection{WebACL: webACL}
	if by != nil && settings.IsWebACL(webACL) {
		if out.WebACL = g.WebACLs[webACL]; out.WebACL == "" {
			out.WebACL = routing.Unsettled
		}
	}
	shield, by, told := forAll{
		settings.ShieldAdvanced, func(v settings.Values) string { return v.Shield }, func(v string) bool { return v == "true" },
		func(a, b string) bool { return a == b },
	}.decide(s.Members)
	found = append(found, told...)
	switch {
	case shield == "false":
		out.Shield = routing.ShieldOff
	case shield == "true" && g.NoShield == "":
		out.Shield = routing.ShieldOn
	case shield == "true":
		out.Shield = routing.Unsettled
		found = append(found, about(by.Ingress, settings.ShieldAdvanced, diag.Warning, diag.NoShield, g.NoShield))
	}
	return out, found
}
