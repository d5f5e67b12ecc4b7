package ingress

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/diag"
)

// This file is about Ingresses that are served and are gone without having been let go of: our
// finalizer was taken by force, or the API server was restored from an older state. They are served
// on as they were last accepted.

// Absence is how many of some members have vanished.
type Absence struct{ Vanished, Members int }

// few is how many may vanish without an order to confirm it.
const few = 3

// Grave reports whether so many have vanished that it is to be confirmed: more than a few, or more
// than a third. A single one is no sign that the API server was restored.
func (a Absence) Grave() bool {
	return a.Vanished > few || a.Vanished > 1 && 3*a.Vanished > a.Members
}

// A Vanishing is what is known of an Ingress that has vanished.
type Vanishing struct {
	// For is how long ago it was first seen to be gone.
	For time.Duration
	// Unconfirmed says that it goes only once that is confirmed, because many vanished with it.
	Unconfirmed bool
	// Confirmed says that it is.
	Confirmed bool
}

// Stays reports whether it is still served, where one that vanished alone is for a grace.
func (v Vanishing) Stays(grace time.Duration) bool {
	return !v.Confirmed && (v.Unconfirmed || v.For < grace)
}

// Memorable reports whether enough is remembered of an Ingress to serve it once it is gone.
func (r Remembered) Memorable() bool { return r.Served && r.LastAccepted != nil }

// placeVanished makes members of the Ingresses that have vanished.
func (s *splitter) placeVanished(there []*networkingv1.Ingress) {
	present := map[string]bool{}
	for _, ing := range there {
		present[nameOf(ing).String()] = true
	}
	for _, ing := range slices.Sorted(maps.Keys(s.trails)) {
		if home := s.trails[ing].home(); home.Vanished != nil && !present[ing] {
			s.serveOn(ing)
		}
	}
}

// serveOn has an Ingress that has vanished served as it was last accepted. What the class does not
// permit any more goes at once.
func (s *splitter) serveOn(vanished string) {
	var found []diag.Diagnostic
	for _, home := range s.trails[vanished] {
		class := s.classOf(home.key)
		if !home.Memorable() || class == nil {
			continue
		}
		ing := home.vanished(vanished)
		member, withdrawn, ok := s.asAccepted(ing, home, class)
		found = append(found, withdrawn...)
		if !ok {
			continue
		}
		member.Vanished = true
		s.move(ing, member, s.snapshot(home.key, class), append(found, tellVanished(ing, home)))
		return
	}
	s.homeless = append(s.homeless, found...)
}

// asAccepted is stillGood, for an Ingress that has vanished. What a class permits depends on the
// namespace, too: where that vanished with the Ingress, only the annotations are judged.
func (s *splitter) asAccepted(ing *networkingv1.Ingress, home home, class *Class) (m Member, told []diag.Diagnostic, ok bool) {
	if s.namespaces[name{name: ing.Namespace}] != nil {
		return s.stillGood(ing, home, class)
	}
	m, _, ok = class.lastGood(home.key, ing, home.LastAccepted)
	return m, nil, ok
}

// vanished is what is left of an Ingress that has vanished.
func (r Remembered) vanished(ingress string) *networkingv1.Ingress {
	namespace, name, _ := strings.Cut(ingress, "/")
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(r.Created)}}
}

func tellVanished(ing *networkingv1.Ingress, home home) diag.Diagnostic {
	until := "the vanished grace is over"
	if home.Vanished.Unconfirmed {
		until = "that is confirmed, for many have vanished"
	}
	return diag.Diagnostic{
		Severity: diag.Warning, Reason: diag.Vanished, Source: sourceOf(ing),
		Message: fmt.Sprintf("it is gone, and was not let go of: %s serves it as it was last accepted until it is back or %s", home.key, until),
	}
}
