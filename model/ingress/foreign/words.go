package foreign

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/ingress/spelling"
)

// This file tells the effect of an annotation that is in no table by the words of its name.

// restrictingWords has words in names of restricting annotations, under any prefix, so that newer
// annotations, which the tables lack, are recognised, too.
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

// controllersRestrictingWords restrict only in names under the prefixes of other controllers: limits
// of rates, and configuration that can contain anything.
var controllersRestrictingWords = map[string]bool{
	"condition": true, "conditions": true, "csrf": true, "limit": true, "limits": true,
	"middleware": true, "middlewares": true, "owasp": true, "plugin": true, "plugins": true,
	"snippet": true, "snippets": true,
}

// looksRestrictiveOfController reports whether a name under the prefix of another controller has one
// of its restricting words, or says that clients are verified, and the value is not off.
func looksRestrictiveOfController(name, value string) bool {
	words := spelling.Words(name)
	return !off(value) && (slices.ContainsFunc(words, func(w string) bool {
		return controllersRestrictingWords[w]
	}) ||
		slices.Contains(words, "verify") && slices.Contains(words, "client"))
}

// LooksRestrictive reports whether a name has a restricting word, or two adjacent words that form
// one, such as white and list, and the value is not off.
func LooksRestrictive(name, value string) bool {
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

// LooksInternal reports whether a name or a value has a word for load balancers without access from
// the internet.
func LooksInternal(name, value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "internal", "private", "intranet":
		return true
	}
	return !off(value) && slices.ContainsFunc(spelling.Words(name), func(w string) bool {
		return w == "internal" || w == "private"
	})
}

// LooksSecure reports whether a name has words for HTTPS alone, or for redirects to it, and the
// value is not off.
func LooksSecure(name, value string) bool {
	words := spelling.Words(name)
	has := func(wanted ...string) bool {
		return slices.ContainsFunc(wanted, func(w string) bool { return slices.Contains(words, w) })
	}
	return !off(value) && has("https", "ssl", "tls") &&
		has("redirect", "redirects", "force", "enforce", "require", "required", "passthrough")
}
