package ingress

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides in which network a load balancer is: its IP family, its subnets, and its
// security groups. Where the class has them, it decides; else the oldest member does. A member that
// asks for security groups is never served with others.

// A DecidedNetwork is the network of a load balancer, and what decides about it besides the class.
type DecidedNetwork struct {
	routing.Network
	Decided  []diag.Source // annotations
	GroupsBy *Member       // the member that asks for the security groups; nil for the class
	found    []diag.Diagnostic
}

// NetworkOf returns the network of the load balancer of a snapshot.
func NetworkOf(s Snapshot) DecidedNetwork {
	out := DecidedNetwork{Network: routing.Network{Key: s.Key, Scheme: s.Key.Scheme(),
		IPFamily: s.Class.IPFamily, Subnets: s.Class.Subnets, SubnetTags: s.Class.SubnetTags,
		SecurityGroups: s.Class.SecurityGroups}}
	decide := func(annotation string, said func(settings.Values) string) (*Member, string) {
		value, by, notes := loadBalancerSetting{
			Said: func(v settings.Values) (string, string) { return said(v), annotation },
			Asks: func(value string) bool { return value != "" },
			Same: func(a, b string) bool { return a == b },
		}.decide(s.Members)
		out.found = append(out.found, notes...)
		return by, value
	}
	if by, family := decide(settings.IPFamily, func(v settings.Values) string {
		return v.IPFamily
	}); by != nil && s.Class.IPFamily == "" {
		out.IPFamily = family
		out.Decided = append(out.Decided, annotationSource(by.Ingress, settings.IPFamily))
	}
	if by, _ := decide(settings.Subnets, func(v settings.Values) string {
		return strings.Join(v.Subnets, ", ")
	}); by != nil {
		out.Subnets = by.Settings.Subnets
		out.Decided = append(out.Decided, annotationSource(by.Ingress, settings.Subnets))
	}
	if by := groupsClaim(s); by != nil && by.Settings.SecurityGroups != nil {
		out.SecurityGroups, out.GroupsBy = by.Settings.SecurityGroups, by
		out.Decided = append(out.Decided, annotationSource(by.Ingress, settings.SecurityGroups))
	}
	return out
}

// Diagnostics returns the diagnostics about members that others decide for, and about what the
// cloud lacks of what members ask for.
func (n DecidedNetwork) Diagnostics(c CloudNetwork) []diag.Diagnostic {
	out := n.found
	for _, source := range n.Decided {
		if !strings.HasSuffix(source.Field, "["+settings.Subnets+"]") {
			continue
		}
		for _, why := range c.Unmet {
			if slices.ContainsFunc(n.Subnets, func(name string) bool {
				return strings.Contains(why, name)
			}) {
				out = append(out, diag.Diagnostic{Severity: diag.Warning, Reason: diag.NetworkUnmet,
					Source: source, Message: why})
			}
		}
	}
	return out
}

// checkNetwork returns the diagnostics about annotations of a member that exclude each other.
func checkNetwork(m Member) []diag.Diagnostic {
	var found []diag.Diagnostic
	refuse := func(annotation, message string) {
		found = append(found, aboutAnnotation(m.Ingress, annotation, diag.Error,
			diag.AnnotationInvalid, message))
	}
	if _, both := m.Annotations[settings.Inbound]; both && m.Settings.SecurityGroupsAsked() != nil {
		refuse(settings.Inbound, fmt.Sprintf("the security groups of %s say themselves which clients "+
			"may connect: leave out one of the annotations", settings.SecurityGroups))
	}
	family := m.Settings.IPFamily
	if m.Settings.Uncounted != nil && family == "" {
		family = m.Settings.Uncounted.IPFamily
	}
	if _, asked := m.Annotations[settings.IPFamily]; asked &&
		family == v1alpha1.IPFamilyDualStackPrivateIPv4 && m.Settings.Scheme == v1alpha1.SchemeInternal {
		refuse(settings.IPFamily, family+" is for load balancers that face the internet, and this one "+
			"is internal")
	}
	return found
}

// groupsClaim returns the member that decides which security groups the load balancer has: those of its
// annotation, or one that Fairlead keeps. It is the oldest one with a served version that asks for groups
// or for clients, or else the oldest one that does; nil if none does, or if the class decides.
func groupsClaim(s Snapshot) *Member {
	if len(s.Class.SecurityGroups) > 0 || len(s.Class.Inbound) > 0 {
		return nil
	}
	claims := func(m Member) bool {
		return m.Settings.SecurityGroups != nil || m.Settings.Inbound != nil
	}
	if !slices.ContainsFunc(s.Members,
		func(m Member) bool { return m.Settings.SecurityGroups != nil }) {
		return nil // all others are served together
	}
	changes := s.Changes()
	at := slices.IndexFunc(s.Members, func(m Member) bool { return claims(m) && !among(m, changes) })
	if at < 0 {
		at = slices.IndexFunc(s.Members, claims)
	}
	return &s.Members[at]
}

// WithoutOtherGroups returns a snapshot in which no member asks for other security groups than
// those of the load balancer, or says beside these which clients may connect. Changes that do are
// refused, with diagnostics.
func WithoutOtherGroups(s Snapshot) (Snapshot, []diag.Diagnostic) {
	if !slices.ContainsFunc(s.Members,
		func(m Member) bool { return m.Settings.SecurityGroupsAsked() != nil }) {
		return s, nil
	}
	var found []diag.Diagnostic
	for {
		claim := groupsClaim(s)
		var groups []string
		if claim != nil {
			groups = claim.Settings.SecurityGroups
		}
		changes := s.Changes()
		var back, out []Member
		for _, m := range s.Members {
			annotation, why := "", ""
			switch asked := m.Settings.SecurityGroupsAsked(); {
			case asked != nil && !slices.Equal(asked, groups):
				annotation, why = settings.SecurityGroups, otherGroups(m, claim)
			case groups != nil && m.Settings.Inbound != nil:
				annotation, why = settings.Inbound, fmt.Sprintf("%s asks for security groups, whose owner "+
					"decides which clients may connect, and the Ingress is not served to others than it asks "+
					"for", claim.Owner)
			default:
				continue
			}
			if among(m, changes) {
				back = append(back, m)
			} else {
				out = append(out, m)
			}
			if !m.Leaving {
				found = append(found, aboutAnnotation(m.Ingress, annotation, diag.Error, diag.Exposed, why))
			}
		}
		if len(back)+len(out) == 0 {
			return s, found
		}
		s = s.Refuse(back).Without(out)
	}
}

// otherGroups returns the message for a member that asks for other security groups than those of
// the load balancer.
func otherGroups(m Member, claim *Member) string {
	has := "the load balancer has a security group that Fairlead keeps"
	switch {
	case claim != nil && claim.Settings.SecurityGroups != nil:
		has = fmt.Sprintf("the load balancer has the security groups that %s asks for", claim.Owner)
	case claim != nil:
		has += fmt.Sprintf(", since %s says which clients may connect", claim.Owner)
	}
	if m.Settings.SecurityGroups == nil {
		has += ", and only the class and the owner of the group decide"
	}
	return has + ", and the Ingress is not served with others than it asks for"
}

// A CloudNetwork has what the cloud found of the subnets and security groups that were asked for.
type CloudNetwork struct {
	Asked  routing.Network // zero: the one of the snapshot
	Groups []string        // security groups by ID
	Unmet  []string        // what it lacks, in words
	Exists bool            // there is a load balancer
}

// has reports whether what was looked up is about the network of a load balancer.
func (c CloudNetwork) has(n DecidedNetwork) bool {
	return reflect.DeepEqual(c.Asked, routing.Network{}) || reflect.DeepEqual(c.Asked, n.Network)
}

// lacksGroups reports whether the security groups of a load balancer are not known, so that it must
// not be made or changed.
func (c CloudNetwork) lacksGroups(n DecidedNetwork) bool {
	if len(n.SecurityGroups) == 0 {
		return false
	}
	return !c.has(n) || len(c.Groups) == 0 && (n.GroupsBy != nil || len(c.Unmet) > 0)
}

// Keeps reports whether the settings of a load balancer have to stay as they are, since it is not
// known what they would have to be.
func (c CloudNetwork) Keeps(n DecidedNetwork) bool { return !c.has(n) || c.lacksGroups(n) }

// WithoutMissingGroups returns a snapshot in which no change asks for security groups that the
// cloud lacks. Where those of the class or of a served version are missing, a load balancer keeps
// the ones that it has, and none is made.
func WithoutMissingGroups(s Snapshot, c CloudNetwork) (Snapshot, []diag.Diagnostic) {
	var found []diag.Diagnostic
	for {
		n := NetworkOf(s)
		if len(s.Members) == 0 || !c.lacksGroups(n) {
			return s, found
		}
		why := "the cloud has no such security groups: " + diag.Cut(strings.Join(n.SecurityGroups, ", "))
		if len(c.Unmet) > 0 {
			why = strings.Join(c.Unmet, "; ")
		}
		tell := func(m Member, severity diag.Severity, effect string) {
			source := m.Source()
			if m.Settings.SecurityGroups != nil {
				source = annotationSource(m.Ingress, settings.SecurityGroups)
			}
			if !m.Leaving {
				found = append(found, diag.Diagnostic{Severity: severity, Reason: diag.NetworkUnmet,
					Source: source, Message: why + "; " + effect})
			}
		}
		switch {
		case n.GroupsBy != nil && among(*n.GroupsBy, s.Changes()):
			tell(*n.GroupsBy, diag.Error, "the Ingress is not served without them")
			s = s.Refuse([]Member{*n.GroupsBy})
		case c.Exists:
			if n.GroupsBy != nil {
				tell(*n.GroupsBy, diag.Warning, "the load balancer keeps the security groups that it has")
			}
			return s, found
		default:
			for _, m := range s.Members {
				tell(m, diag.Error, "no load balancer is made without them")
			}
			return s.Without(s.Members), found
		}
	}
}
