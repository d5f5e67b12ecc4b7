package ingress

import (
	"cmp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides which web ACL of AWS WAF is associated with a load balancer, and whether it has
// Shield Advanced. The decision holds for all members. An Ingress with a web ACL is served with
// that one, or not at all.

// A CloudProtection has the web ACLs of the cloud, and whether it has Shield Advanced.
type CloudProtection struct {
	// WebACLs maps the wanted web ACLs to their ARNs.
	WebACLs map[string]string
	// NoWebACLs says why web ACLs are missing in WebACLs, and NoShield why there is no Shield
	// Advanced; or "".
	NoWebACLs, NoShield string
}

// WebACLs returns the web ACLs that members name, sorted.
func WebACLs(s Snapshot) []string {
	var out []string
	for _, m := range s.Members {
		if asked := m.Settings.WebACL; settings.IsWebACL(asked) && !slices.Contains(out, asked) {
			out = append(out, asked)
		}
	}
	slices.Sort(out)
	return out
}

// Shielded reports whether a member asks for Shield Advanced.
func Shielded(s Snapshot) bool {
	return slices.ContainsFunc(s.Members,
		func(m Member) bool { return m.Settings.Shield == "true" })
}

// lacksWebACL reports whether a member names a missing web ACL.
func (g CloudProtection) lacksWebACL(m Member) bool {
	return settings.IsWebACL(m.Settings.WebACL) && g.WebACLs[m.Settings.WebACL] == ""
}

// arnOf returns the ARN of a web ACL if it is known, else its name.
func (g CloudProtection) arnOf(webACL string) string { return cmp.Or(g.WebACLs[webACL], webACL) }

// sameWebACL reports whether two settings name one web ACL. The ARN of a setting that does not
// count is not looked up, so its name is compared with the name in the other ARN.
func (g CloudProtection) sameWebACL(a, b string) bool {
	a, b = g.arnOf(a), g.arnOf(b)
	return a == b || a != "" && b != "" && (nameInARN(a) == b || a == nameInARN(b))
}

// nameInARN returns the name in the ARN of a web ACL,
// arn:aws:wafv2:REGION:ACCOUNT:regional/webacl/NAME/ID, and "" for any other text.
func nameInARN(webACL string) string {
	if parts := strings.Split(webACL, "/"); len(parts) == 4 {
		return parts[2]
	}
	return ""
}

// Protect returns the web ACL and the Shield protection of the load balancer of a snapshot.
func Protect(s Snapshot, g CloudProtection) (routing.Protection, []diag.Diagnostic) {
	webACL, by, found := loadBalancerSetting{
		Said: func(v settings.Values) (string, string) { return v.WebACL, settings.WAFv2ACL },
		Asks: settings.IsWebACL, Same: g.sameWebACL,
	}.decide(s.Members)
	out := routing.Protection{WebACL: webACL}
	if by != nil && settings.IsWebACL(webACL) {
		if out.WebACL = g.WebACLs[webACL]; out.WebACL == "" {
			out.WebACL = routing.Unsettled
		}
	}
	shield, by, notes := loadBalancerSetting{
		Said: func(v settings.Values) (string, string) { return v.Shield, settings.ShieldAdvanced },
		Asks: func(v string) bool { return v == "true" },
		Same: func(a, b string) bool { return a == b },
	}.decide(s.Members)
	found = append(found, notes...)
	switch {
	case shield == "false":
		out.Shield = routing.ShieldOff
	case shield == "true" && g.NoShield == "":
		out.Shield = routing.ShieldOn
	case shield == "true":
		out.Shield = routing.Unsettled
		found = append(found, aboutAnnotation(by.Ingress, settings.ShieldAdvanced, diag.Warning,
			diag.NoShield, g.NoShield))
	}
	return out, found
}
