package ingress

import (
	"fmt"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/memory"
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
	for _, ing := range slices.Sorted(maps.Keys(s.trails)) {
		if home := s.trails[ing].Home(); home.Vanished != nil && !present[ing] {
			s.keepServing(ing)
		}
	}
}

// keepServing serves the last accepted version of a vanished Ingress. A version that the class no
// longer permits is removed at once.
func (s *placement) keepServing(vanished string) {
	var found []diag.Diagnostic
	for _, home := range s.trails[vanished] {
		class := s.classOf(home.Key)
		if !home.Memorable() || class == nil {
			continue
		}
		ing := home.Ingress(vanished)
		member, withdrawn, ok := s.acceptedVersion(ing, home, class)
		found = append(found, withdrawn...)
		if !ok {
			continue
		}
		member.Vanished = true
		s.move(ing, member, s.snapshot(home.Key, class), append(found, reportVanished(ing, home)))
		return
	}
	s.homeless = append(s.homeless, found...)
}

// acceptedVersion returns permittedVersion for a vanished Ingress. If its namespace vanished, too,
// only the annotations are checked.
func (s *placement) acceptedVersion(ing *networkingv1.Ingress, home memory.Home,
	class *Class) (m Member, told []diag.Diagnostic, ok bool) {
	if s.Namespaces[Name{Name: ing.Namespace}] != nil {
		return s.permittedVersion(ing, home, class)
	}
	m, _, ok = lastAccepted(class, home.Key, ing, home.LastAccepted)
	return m, nil, ok
}

func reportVanished(ing *networkingv1.Ingress, home memory.Home) diag.Diagnostic {
	until := "the vanished grace is over"
	if home.Vanished.Unconfirmed {
		until = "an administrator confirms on the LoadBalancer that it is to go, as three or more " +
			"namespaces have lost Ingresses"
	}
	return diag.Diagnostic{
		Severity: diag.Warning, Reason: diag.Vanished, Source: sourceOfIngress(ing),
		Message: fmt.Sprintf("it is gone, and was not released: %s serves it as it was last accepted "+
			"until it is back or %s", home.Key, until),
	}
}
