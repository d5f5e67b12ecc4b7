package ingress

import (
	"fmt"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/record"
)

// This file handles Ingresses that are gone although Fairlead did not remove its finalizer: the
// finalizer was removed by force, or the API server was restored from an older state. Their last
// accepted versions are still served.

// placeVanished makes members of the Ingresses that have vanished.
func (s *placement) placeVanished(there []*networkingv1.Ingress) {
	present := map[string]bool{}
	for _, ing := range there {
		present[nameOf(ing).String()] = true
	}
	for _, ing := range slices.Sorted(maps.Keys(s.memberships)) {
		if membership := s.memberships[ing].Current(); membership.Vanished != nil && !present[ing] {
			s.keepServing(ing)
		}
	}
}

// keepServing serves the last accepted version of a vanished Ingress. A version that the class no
// longer permits is removed at once.
func (s *placement) keepServing(vanished string) {
	var found []diag.Diagnostic
	for _, membership := range s.memberships[vanished] {
		class := s.classOf(membership.Key)
		if !membership.CanBeServed() || class == nil {
			continue
		}
		ing := membership.Ingress(vanished)
		member, withdrawn, ok := s.acceptedVersion(ing, membership, class)
		found = append(found, withdrawn...)
		if !ok {
			continue
		}
		member.Vanished = true
		s.move(ing, member, s.snapshot(membership.Key, class), append(found, reportVanished(ing, membership)))
		return
	}
	s.unplaced = append(s.unplaced, found...)
}

// acceptedVersion returns permittedVersion for a vanished Ingress. If its namespace vanished, too,
// only the annotations are checked.
func (s *placement) acceptedVersion(ing *networkingv1.Ingress, membership record.Membership,
	class *Class) (m Member, notes []diag.Diagnostic, ok bool) {
	if s.Namespaces[Name{Name: ing.Namespace}] != nil {
		return s.permittedVersion(ing, membership, class)
	}
	m, _, ok = lastAccepted(class, membership.Key, ing, membership.LastAccepted)
	return m, nil, ok
}

func reportVanished(ing *networkingv1.Ingress, membership record.Membership) diag.Diagnostic {
	until := "the vanished grace is over"
	if membership.Vanished.Unconfirmed {
		until = "an administrator confirms on the LoadBalancer that it is to go, as three or more " +
			"namespaces have lost Ingresses"
	}
	return diag.Diagnostic{
		Severity: diag.Warning, Reason: diag.Vanished, Source: sourceOfIngress(ing),
		Message: fmt.Sprintf("it is gone, and was not released: %s serves it as it was last accepted "+
			"until it is back or %s", membership.Key, until),
	}
}
