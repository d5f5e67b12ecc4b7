package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
)

// This file compares two sign-ins.

// compareAuth compares the users that two sign-ins admit, with the fields that differ. Those of
// another identity provider may be others.
func compareAuth(before, after *routing.Auth) (Protection, []string) {
	out, details := compareClaims(before.Claims, after.Claims)
	old, now := identityOf(before), identityOf(after)
	for i, field := range old {
		if other := now[i].value; field.value != other {
			details = append(details, differs(field.name, shown(field.value), shown(other)))
			if out != Less {
				out = Unknown
			}
		}
	}
	return out, details
}

type authField struct{ name, value string }

// identityOf returns the fields that decide by which users a sign-in is passed.
func identityOf(a *routing.Auth) []authField {
	return []authField{
		{"kind", a.Kind}, {"issuer", a.Issuer}, {"keysEndpoint", a.KeysEndpoint},
		{"authorizationEndpoint", a.AuthorizationEndpoint}, {"tokenEndpoint", a.TokenEndpoint},
		{"userInfoEndpoint", a.UserInfoEndpoint}, {"clientID", a.ClientID},
		{"userPool", a.UserPool}, {"userPoolDomain", a.UserPoolDomain},
	}
}

// compareClaims compares the tokens that claims admit: a token has to have all claims, each with one
// of its values.
func compareClaims(before, after []routing.Claim) (Protection, []string) {
	out := Same
	var details []string
	differ := func(c routing.Claim, old, now string) {
		details = append(details, differs("claim "+shown(c.Name), old, now))
	}
	for _, c := range before {
		if demanded(c, after) {
			continue
		}
		out = Less
		differ(c, claimText(c), claimsNamed(c.Name, after))
	}
	for _, c := range after {
		if demanded(c, before) {
			continue
		}
		if out == Same {
			out = More
		}
		if named := claimsNamed(c.Name, before); named == "none" || out == More {
			differ(c, named, claimText(c))
		}
	}
	return out, details
}

// demanded reports whether a claim of a list asks for at least as much.
func demanded(c routing.Claim, list []routing.Claim) bool {
	return slices.ContainsFunc(list, func(o routing.Claim) bool {
		admits := func(v string) bool { return slices.Contains(c.Values, v) }
		return o.Name == c.Name && o.Format == c.Format &&
			!slices.ContainsFunc(o.Values, func(v string) bool { return !admits(v) })
	})
}

func claimsNamed(name string, list []routing.Claim) string {
	var out []string
	for _, c := range list {
		if c.Name == name {
			out = append(out, claimText(c))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, " and ")
}

// claimText describes the values of a claim.
func claimText(c routing.Claim) string {
	return c.Format + " " + short(strings.Join(printable.Words(c.Values), ", "))
}

func differs(name, old, now string) string { return fmt.Sprintf("%s: %s, now %s", name, old, now) }

func shown(text string) string {
	if text == "" {
		return "none"
	}
	return short(printable.Word(text))
}

// short returns the beginning of a text; if it is cut, with a digest, so that different texts stay
// different.
func short(text string) string {
	head := diag.Cut(text)
	if head == text {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%s (SHA-256 %s)", head, hex.EncodeToString(sum[:8]))
}
