package policies

import (
	"cmp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/members"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/ingress/snapshots"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides which web ACL of AWS WAF is associated with a load balancer, and whether it has
// Shield Advanced. One decision holds for all members. An Ingress that asks for a web ACL is served
// behind that one, or not at all.

// CloudProtection has the web ACLs of the cloud, and says whether it has Shield Advanced.
type CloudProtection struct {
	// WebACLs maps those that were asked for to what the cloud calls them.
	WebACLs map[string]string
	// NoWebACLs is why the cloud has none of those that are missing in WebACLs, and NoShield why it
	// has no Shield Advanced; or "".
	NoWebACLs, NoShield string
}

// WebACLs are those that members ask for.
func WebACLs(s snapshots.Snapshot) []string {
	var out []string
	for _, m := range s.Members {
		if asked := m.Settings.WebACL; settings.IsWebACL(asked) && !slices.Contains(out, asked) {
			out = append(out, asked)
		}
	}
	slices.Sort(out)
	return out
}

// Shielded reports whether a member asks for a shield.
func Shielded(s snapshots.Snapshot) bool {
	return slices.ContainsFunc(s.Members,
		func(m members.Member) bool { return m.Settings.Shield == "true" })
}

// lacks reports whether a member asks for a web ACL that there is not.
func (g CloudProtection) lacks(m members.Member) bool {
	return settings.IsWebACL(m.Settings.WebACL) && g.WebACLs[m.Settings.WebACL] == ""
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

// Protect returns the web ACL and the Shield protection of the load balancer of a snapshot.
func Protect(s snapshots.Snapshot, g CloudProtection) (routing.Protection, []diag.Diagnostic) {
	webACL, by, found := members.LoadBalancerSetting{
		Annotation: settings.WAFv2ACL, Said: func(v settings.Values) string { return v.WebACL },
		Asks: settings.IsWebACL, Same: g.same,
	}.Decide(s.Members)
	out := routing.Protection{WebACL: webACL}
	if by != nil && settings.IsWebACL(webACL) {
		if out.WebACL = g.WebACLs[webACL]; out.WebACL == "" {
			out.WebACL = routing.Unsettled
		}
	}
	shield, by, told := members.LoadBalancerSetting{
		Annotation: settings.ShieldAdvanced, Said: func(v settings.Values) string { return v.Shield },
		Asks: func(v string) bool { return v == "true" },
		Same: func(a, b string) bool { return a == b },
	}.Decide(s.Members)
	found = append(found, told...)
	switch {
	case shield == "false":
		out.Shield = routing.ShieldOff
	case shield == "true" && g.NoShield == "":
		out.Shield = routing.ShieldOn
	case shield == "true":
		out.Shield = routing.Unsettled
		found = append(found, objects.AboutAnnotation(by.Ingress, settings.ShieldAdvanced, diag.Warning,
			diag.NoShield, g.NoShield))
	}
	return out, found
}
