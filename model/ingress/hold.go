package ingress

import (
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/routing"
)

// This file holds Ingresses back: they are compiled as they were last accepted, or left out.

// A Hold has the Ingresses that are held back, and the hosts that are closed.
type Hold struct {
	// Namespaces are served as they were last accepted: changes of their Ingresses, and deletions, do
	// not count.
	Namespaces []string
	// Accepted are single Ingresses, by namespace/name, that are served as they were last accepted.
	Accepted []string
	// Ingresses, by namespace/name, are not served at all.
	Ingresses []string
	// Closed are hosts that no Ingress answers for unless a rule names them.
	Closed []routing.ClosedHost
}

// Empty reports whether nothing is held back.
func (h Hold) Empty() bool { return !h.Delays() && len(h.Closed) == 0 }

// Equal reports whether two holds hold the same back.
func (h Hold) Equal(o Hold) bool {
	return slices.Equal(h.Namespaces, o.Namespaces) && slices.Equal(h.Accepted, o.Accepted) &&
		slices.Equal(h.Ingresses, o.Ingresses) && slices.Equal(h.Closed, o.Closed)
}

// Delays reports whether Ingresses are held back.
func (h Hold) Delays() bool { return len(h.Namespaces)+len(h.Accepted)+len(h.Ingresses) > 0 }

// WithHold returns the snapshot with some Ingresses held back. Departed are those that have left the
// load balancer, or were deleted: nil for one that does not exist any more.
func (s Snapshot) WithHold(h Hold, departed map[string]*networkingv1.Ingress) Snapshot {
	if h.Empty() {
		return s
	}
	s.Closed = h.Closed
	holds := func(o routing.Owner) bool {
		return slices.Contains(h.Namespaces, o.Namespace) || slices.Contains(h.Accepted, o.String())
	}
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

// AsAccepted returns the snapshot with some Ingresses as they were last accepted, those that have
// departed included.
func (s Snapshot) AsAccepted(
	of func(routing.Owner) bool, departed map[string]*networkingv1.Ingress,
) Snapshot {
	s = s.Refuse(slices.DeleteFunc(s.Changes(), func(m Member) bool {
		return !of(m.Owner)
	}))
	for _, m := range s.departed(departed) {
		if _, gone := departed[m.Owner.String()]; gone && of(m.Owner) {
			s.Members = append(s.Members, m)
		}
	}
	slices.SortFunc(s.Members,
		func(a, b Member) int { return routing.Older(a.Owner, b.Owner) })
	return s
}
