package records

import (
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads the owners of hosts in a record.

// AnyHost is the form of routing.Any in a record.
const AnyHost = "*"

// ownersOf returns the owners that a record has, without the reservations that had ended by a time.
func ownersOf(known []v1alpha1.HostOwner, now time.Time) map[routing.Host]string {
	out := make(map[routing.Host]string, len(known))
	for _, h := range known {
		if IsFree(h, now) {
			continue
		}
		out[HostOf(h)] = h.Namespace
	}
	return out
}

// yieldingOf returns the hosts of a record for which other namespaces had certificates before.
func yieldingOf(known []v1alpha1.HostOwner) map[routing.Host]bool {
	out := map[routing.Host]bool{}
	for _, h := range known {
		if h.Yields {
			out[HostOf(h)] = true
		}
	}
	return out
}

// HostOf returns the host of an entry.
func HostOf(h v1alpha1.HostOwner) routing.Host {
	if h.Host == AnyHost {
		return routing.Any
	}
	return routing.Host(h.Host)
}

// IsFree reports whether a reservation has ended.
func IsFree(h v1alpha1.HostOwner, now time.Time) bool {
	return h.Until != nil && !now.Before(h.Until.Time)
}
