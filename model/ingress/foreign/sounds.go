package foreign

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/ingress/spelling"
)

// This file guesses what an annotation of no table does by the words of its name.

// restrictingWords are parts of names that tell that an annotation restricts, also of one that a
// controller has got since the table was made.
var restrictingWords = map[string]bool{
	"acl": true, "allowed": true, "allowlist": true, "armor": true, "auth": true, "authn": true,
	"authz": true, "authentication": true, "authorization": true, "blacklist": true, "block": true,
	"blocklist": true, "cidr": true, "cidrs": true, "denied": true, "deny": true, "denylist": true,
	"firewall": true, "geoip": true, "iap": true, "jwt": true, "ldap": true, "modsecurity": true,
	"mtls": true, "oauth": true, "oauth2": true, "oidc": true, "only": true, "range": true,
	"ranges": true, "ratelimit": true, "ratelimiting": true, "ratelimits": true, "rbac": true,
	"restrict": true, "restriction": true, "restrictions": true, "saml": true, "security": true,
	"sso": true, "waf": true, "whitelist": true,
}

// SoundsRestricting reports whether a word of a name says that the annotation restricts, or two
// words that stand side by side, such as white and list; and its value is not off.
func SoundsRestricting(name, value string) bool {
	if off(value) {
		return false
	}
	before := ""
	for _, word := range spelling.Words(name) {
		if restrictingWords[word] || restrictingWords[strings.TrimRight(word, "0123456789")] ||
			restrictingWords[before+word] {
			return true
		}
		before = word
	}
	return false
}

// SoundsInternal reports whether a name or a value says that clients on the internet are kept away.
func SoundsInternal(name, value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "internal", "private", "intranet":
		return true
	}
	return !off(value) && slices.ContainsFunc(spelling.Words(name), func(w string) bool {
		return w == "internal" || w == "private"
	})
}
