package ingress

import (
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/routing"
)

// This file holds Ingresses back: they are compiled as they were last accepted, or left out.

// A Hold has the Ingresses that are held back.
type Hold struct {
	// Namespaces are served as they were last accepted: changes of their Ingresses, and deletions, do
	// not count.
	Namespaces []string
	// Ingresses, by namespace/name, are not served at all.
	Ingresses []string
}

// Empty reports whether nothing is held back.
func (h Hold) Empty() bool { return len(h.Namespaces)+len(h.Ingresses) == 0 }

// Equal reports whether two holds hold the same back.
func (h Hold) Equal(o Hold) bool {
	return slices.Equal(h.Namespaces, o.Namespaces) && slices.Equal(h.Ingresses, o.Ingresses)
}

// Held returns the snapshot with some Ingresses held back. Departed are those that have left the
// load balancer, or were deleted: nil for one that does not exist any more.
func (s Snapshot) Held(h Hold, departed map[string]*networkingv1.Ingress) Snapshot {
	if h.Empty() {
		return s
	}
	holds := func(namespace string) bool { return slices.Contains(h.Namespaces, namespace) }
	var out []Member
	for _, m := range s.Members {
		if slices.Contains(h.Ingresses, nameOf(m.Ingress).String()) {
			out = append(out, m)
		}
	}
	if len(out) > 0 {
		s = s.Without(out)
	}
	departed = maps.Clone(departed)
	for _, name := range h.Ingresses {
		delete(departed, name)
	}
	return s.AsAccepted(holds, departed)
}

// AsAccepted returns the snapshot with the Ingresses of some namespaces as they were last accepted,
// those that have departed included.
func (s Snapshot) AsAccepted(
	of func(namespace string) bool, departed map[string]*networkingv1.Ingress,
) Snapshot {
	s = s.Refuse(slices.DeleteFunc(s.Changes(), func(m Member) bool {
		return !of(m.Namespace)
	}))
	for _, m := range s.departed(departed) {
		if _, gone := departed[m.Owner.String()]; gone && of(m.Namespace) {
			s.Members = append(s.Members, m)
		}
	}
	slices.SortFunc(s.Members,
		func(a, b Member) int { return routing.Older(a.Owner, b.Owner) })
	return s
}
