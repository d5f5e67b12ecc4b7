package ingress

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file decides what stands before a load balancer: the web ACL of AWS WAF that looks at requests, and
// Shield Advanced. One holds for all members. Who asks for a web ACL is never served without one.

// webACL is what the names and ARNs of web ACLs look like that can stand before a load balancer.
var webACL = regexp.MustCompile(`^([0-9A-Za-z_-]{1,128}|arn:aws[a-z-]*:wafv2:[a-z0-9-]+:[0-9]{12}:regional/webacl/[0-9A-Za-z_-]{1,128}/[0-9a-f-]{36})$`)

func checkWebACL(text string) error {
	if !webACL.MatchString(text) {
		return errors.New("it is neither the name nor the ARN of a regional web ACL, nor none")
	}
	return nil
}

// guards reports whether a setting names a web ACL.
func guards(webACL string) bool { return routing.Protection{WebACL: webACL}.Guarded() }

// Guards are what the cloud has to put before a load balancer.
type Guards struct {
	// WebACLs maps those that were asked for to what the cloud calls them.
	WebACLs map[string]string
	// Unguarded and Unshielded are why it has no web ACLs at all and no shield, or "".
	Unguarded, Unshielded string
}

// WebACLs are those that members ask for.
func WebACLs(s Snapshot) []string {
	var out []string
	for _, m := range s.Members {
		if asked := m.settings.webACL; guards(asked) && !slices.Contains(out, asked) {
			out = append(out, asked)
		}
	}
	slices.Sort(out)
	return out
}

// Shielded reports whether a member asks for a shield.
func Shielded(s Snapshot) bool {
	return slices.ContainsFunc(s.Members, func(m Member) bool { return m.settings.shield == "true" })
}

// unguarded reports whether a member asks for a web ACL that there is not.
func (g Guards) unguarded(m Member) bool {
	return guards(m.settings.webACL) && g.WebACLs[m.settings.webACL] == ""
}

// Guarded is a snapshot without the changes that ask for a web ACL that there is not. What was served
// before such a one went missing stays; its owner is told, too.
func (s Snapshot) Guarded(g Guards) (Snapshot, []diag.Diagnostic) {
	var found []diag.Diagnostic
	refused := slices.DeleteFunc(s.Changes(), func(m Member) bool { return !g.unguarded(m) })
	for _, m := range s.Members {
		if m.Leaving || !g.unguarded(m) {
			continue
		}
		why := cmp.Or(g.Unguarded, "there is no web ACL "+m.settings.webACL)
		if slices.ContainsFunc(refused, func(r Member) bool { return r.Ingress == m.Ingress }) {
			found = append(found, about(m.Ingress, webACLAnnotation, diag.Error, diag.WebACLMissing, why+", and the Ingress is not served without it"))
		} else {
			found = append(found, about(m.Ingress, webACLAnnotation, diag.Warning, diag.WebACLMissing, why+"; what stands before the load balancer stays"))
		}
	}
	if len(refused) == 0 {
		return s, found
	}
	return s.Refuse(refused), found
}

// Protect is what stands before the load balancer of a snapshot.
func Protect(s Snapshot, g Guards) (routing.Protection, []diag.Diagnostic) {
	p := protecting{Guards: g}
	asked, by := p.decide(s.Members, webACLAnnotation, func(m Member) string { return m.settings.webACL }, guards)
	out := routing.Protection{WebACL: asked}
	if by != nil && guards(asked) {
		if out.WebACL = g.WebACLs[asked]; out.WebACL == "" {
			out.WebACL = routing.Unsettled
		}
	}
	asked, by = p.decide(s.Members, shieldAnnotation, func(m Member) string { return m.settings.shield }, func(v string) bool { return v == "true" })
	switch {
	case asked == "false":
		out.Shield = routing.ShieldOff
	case asked == "true" && g.Unshielded == "":
		out.Shield = routing.ShieldOn
	case asked == "true":
		out.Shield = routing.Unsettled
		p.found = append(p.found, about(by.Ingress, shieldAnnotation, diag.Warning, diag.NoShield, g.Unshielded))
	}
	return out, p.found
}

// A protecting is the choice of what stands before a load balancer.
type protecting struct {
	Guards
	found []diag.Diagnostic
}

// decide chooses between what members say: the oldest decides that asks for something, and else the oldest
// that asks for nothing to be there. The others are told.
func (p *protecting) decide(members []Member, annotation string, said func(Member) string, asks func(string) bool) (string, *Member) {
	at := slices.IndexFunc(members, func(m Member) bool { return asks(said(m)) })
	if at < 0 {
		at = slices.IndexFunc(members, func(m Member) bool { return said(m) != "" })
	}
	if at < 0 {
		return "", nil
	}
	by := &members[at]
	for _, m := range members {
		if !m.Leaving && said(m) != "" && said(m) != said(*by) {
			p.found = append(p.found, about(m.Ingress, annotation, diag.Warning, diag.SettingConflict, fmt.Sprintf("%s decides: %s", by.Owner, said(*by))))
		}
	}
	return said(*by), by
}
